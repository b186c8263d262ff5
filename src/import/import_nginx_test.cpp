// Whole configurations: each of testdata/good gives exactly the policy beside it, each of
// testdata/bad exactly the message beside it. PENSTOCK_UPDATE_GOLDEN=1 writes them anew.
#include "import/import_nginx.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "config/load.hpp"
#include "policy/policy.hpp"

namespace penstock::import {
namespace {

namespace fs = std::filesystem;

const fs::path testdata = fs::path(PENSTOCK_SOURCE_DIR) / "src" / "import" / "testdata";

std::string read(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::vector<fs::path> configurations(const char* kind) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(testdata / kind)) {
    if (entry.path().extension() == ".conf" && entry.is_regular_file()) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Files below testdata; the only pattern in use is DIR/*.EXTENSION.
nginx_files real_files() {
  return {.read = [](const std::string& path) -> std::optional<std::string> {
            if (!fs::is_regular_file(path)) return std::nullopt;
            return read(path);
          },
          .match =
              [](const std::string& pattern) {
                std::vector<std::string> out;
                const fs::path p(pattern);
                for (const auto& entry : fs::directory_iterator(p.parent_path()))
                  if (entry.path().extension() == p.extension())
                    out.push_back(entry.path().string());
                std::sort(out.begin(), out.end());
                return out;
              }};
}

// One text as the main file, without others.
result<imported_policy> import_text(const std::string& text, import_options options = {}) {
  const nginx_files files{.read = [&](const std::string& path) -> std::optional<std::string> {
                            if (path != "nginx.conf") return std::nullopt;
                            return text;
                          },
                          .match = [](const std::string&) { return std::vector<std::string>{}; }};
  return import_nginx("nginx.conf", files, options);
}

void expect_golden(const fs::path& path, const std::string& got) {
  if (std::getenv("PENSTOCK_UPDATE_GOLDEN") != nullptr)
    std::ofstream(path, std::ios::binary) << got;
  EXPECT_EQ(got, read(path)) << path;
}

// What is printed is what people put into production: every word of it is looked at, and it loads.
TEST(ImportNginx, WritesThePolicyThatIsPinned) {
  const auto files = configurations("good");
  ASSERT_GT(files.size(), 7U);
  for (const auto& file : files) {
    const auto made = import_nginx(file.string(), real_files(), {});
    ASSERT_TRUE(made) << file << made.error().message;
    auto pinned = file;
    expect_golden(pinned.replace_extension(".yaml"), made->text);

    const auto loaded = config::load_text(pinned.filename().string(), made->text);
    EXPECT_TRUE(loaded.ok()) << config::format(loaded.issues, loaded.source);
    EXPECT_EQ(loaded.value.policy.limits.size(), made->limits) << file;
    const auto compiled = policy::compile(loaded.value.policy);
    EXPECT_TRUE(compiled) << file << compiled.error().message;
  }
}

// A message without a place or a remedy leaves its reader alone.
TEST(ImportNginx, RefusesWhatNginxRefuses) {
  const auto files = configurations("bad");
  ASSERT_GT(files.size(), 20U);
  for (const auto& file : files) {
    const auto made = import_nginx(file.string(), real_files(), {});
    ASSERT_FALSE(made) << file;
    auto pinned = file;
    expect_golden(pinned.replace_extension(".txt"), made.error().message + "\n");
  }
}

// The one file that has to be there.
TEST(ImportNginx, SaysThatTheMainFileIsMissing) {
  const auto made = import_nginx("/nowhere/nginx.conf", real_files(), {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::io);
  EXPECT_TRUE(made.error().message.starts_with("/nowhere/nginx.conf: cannot be read: "))
      << made.error().message;
}

// Relative includes of a copy are found in the folder that is named.
TEST(ImportNginx, TakesRelativeIncludesFromThePrefix) {
  const auto copy =
      fs::temp_directory_path() / ("penstock-import-" + std::to_string(::getpid()) + ".conf");
  fs::copy_file(testdata / "good" / "parts.conf", copy, fs::copy_options::overwrite_existing);
  const auto made =
      import_nginx(copy.string(), real_files(), {.prefix = (testdata / "good").string()});
  fs::remove(copy);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->limits, 1U);
}

// Behind nginx neither its listeners nor its upstreams are ours, nor its trusted proxies.
TEST(ImportNginx, WritesADecisionListenerOnDemand) {
  const auto made =
      import_text(read(testdata / "good" / "allow-list.conf"), {.face_for = face::decision});
  ASSERT_TRUE(made);
  const auto loaded = config::load_text("p", made->text);
  ASSERT_TRUE(loaded.ok()) << config::format(loaded.issues, loaded.source);
  EXPECT_TRUE(loaded.value.decision.http.has_value());
  EXPECT_TRUE(loaded.value.gateway.upstreams.empty());
  EXPECT_TRUE(loaded.value.policy.client.trusted_proxies.empty());
  EXPECT_EQ(loaded.value.policy.limits.size(), 2U);
}

std::string http(const std::string& inside) {
  return "http { limit_req_zone $binary_remote_addr zone=a:1m rate=10r/s; " + inside + " }";
}

// --strict is for pipelines: nothing may be called exact that is not, nor the other way round.
TEST(ImportNginx, CountsWhatIsNotTheSame) {
  struct row {
    const char* name;
    std::string text;
    std::size_t limits, differs, left_out;
  };
  const std::string pass = " proxy_pass http://127.0.0.1:3000; ";
  const row rows[] = {
      {"exact", http("server { location / { limit_req zone=a burst=5 nodelay;" + pass + "} }"), 1,
       0, 0},
      {"a queue is exact",
       http("server { location /a/ { limit_req zone=a burst=5 delay=2;" + pass + "} }"), 1, 0, 0},
      {"prefix without a slash", http("server { location /a { limit_req zone=a;" + pass + "} }"), 1,
       1, 0},
      {"one zone, two limits",
       http("server { location /a/ { limit_req zone=a;" + pass +
            "} location /b/ { limit_req zone=a burst=2;" + pass + "} }"),
       2, 2, 0},
      {"connections",
       http("server { limit_conn c 5; location / { limit_req zone=a;" + pass + "} }"), 1, 0, 1},
      {"an expression without a pattern",
       http("server { location / {" + pass + "} location ~ x$ { limit_req zone=a; } }"), 0, 0, 1},
      {"an expression that changes nothing",
       http("server { limit_req zone=a; location / {" + pass + "} location ~ x$ { } }"), 1, 0, 0},
      {"what stays in nginx is no loss",
       http(
           "server { limit_conn c 5; deny all; location / { limit_req zone=a; fastcgi_pass x; } }"),
       1, 0, 0},
      {"an error page of another status",
       http("error_page 404 /no.html; server { location / { limit_req zone=a;" + pass + "} }"), 1,
       0, 0},
  };
  for (const auto& r : rows) {
    const auto made = import_text(r.text);
    ASSERT_TRUE(made) << r.name << ": " << made.error().message;
    EXPECT_EQ(made->limits, r.limits) << r.name << "\n" << made->text;
    EXPECT_EQ(made->differs, r.differs) << r.name << "\n" << made->text;
    EXPECT_EQ(made->left_out, r.left_out) << r.name << "\n" << made->text;
  }
}

// Somebody's file must not become somebody's YAML: what a configuration says stays inside comments
// and quotes.
TEST(ImportNginx, KeepsForeignTextInsideItsPlace) {
  const auto made = import_text(
      "http { limit_req_zone $binary_remote_addr \"zone=a\n- b:1m\" rate=1r/s;"
      "server { server_name \"x\ny\" b; location \"/q\\\" # a: b/\" { limit_req \"zone=a\n- b\";"
      "proxy_pass \"http://a\nb: c\"; } } server { server_name c; location / { proxy_pass "
      "http://b; } } }");
  ASSERT_TRUE(made) << made.error().message;
  const auto loaded = config::load_text("p", made->text);
  ASSERT_TRUE(loaded.ok()) << config::format(loaded.issues, loaded.source);
  ASSERT_EQ(loaded.value.policy.limits.size(), 1U);
  EXPECT_EQ(loaded.value.policy.limits[0].name, "a---b");
  EXPECT_EQ(loaded.value.policy.limits[0].match.path, "/q%22%20%23%20a%3A%20b/**");
}

// A policy has bounds; a configuration that passes them is told so, not cut.
TEST(ImportNginx, SaysWhatIsTooMuch) {
  std::string zones;
  for (int i = 0; i < 70; ++i) {
    const auto n = std::to_string(i);
    zones += "limit_req_zone $binary_remote_addr zone=z" + n + ":1m rate=1r/s; limit_req zone=z" +
             n + ";";
  }
  const auto made = import_text("http { " + zones + " server { } }");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "more than 64 limits for every request: import the sites one by one");
}

}  // namespace
}  // namespace penstock::import
