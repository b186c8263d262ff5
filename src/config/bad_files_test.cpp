// One bad file for each message, the whole text that people see pinned beside it.
// PENSTOCK_UPDATE_GOLDEN=1 writes the pinned texts anew; read the difference before committing it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/lint.hpp"
#include "config/load.hpp"

namespace penstock::config {
namespace {

namespace fs = std::filesystem;

const fs::path source_dir = fs::path(PENSTOCK_SOURCE_DIR) / "src" / "config";

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<fs::path> files_in(const fs::path& dir, const std::string& extension) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    if (entry.path().extension() == extension) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool updating() {
  return std::getenv("PENSTOCK_UPDATE_GOLDEN") != nullptr;
}

// The message is the product here: a change of wording has to be a decision.
TEST(BadFiles, SayExactlyWhatIsPinned) {
  const auto files = files_in(source_dir / "testdata" / "bad", ".yaml");
  ASSERT_GT(files.size(), 50U);
  for (const auto& file : files) {
    const auto r = load_text(file.filename().string(), read(file));
    EXPECT_FALSE(r.ok()) << file;
    const auto shown = format(r.issues, r.source);
    auto pinned = file;
    pinned.replace_extension(".txt");
    if (updating()) std::ofstream(pinned, std::ios::binary) << shown;
    EXPECT_EQ(shown, read(pinned)) << file;
  }
}

// Lints load; their words are pinned the same way.
TEST(DoubtfulFiles, SayExactlyWhatIsPinned) {
  const auto files = files_in(source_dir / "testdata" / "lint", ".yaml");
  ASSERT_GT(files.size(), 10U);
  for (const auto& file : files) {
    const auto r = load_text(file.filename().string(), read(file));
    ASSERT_TRUE(r.ok()) << format(r.issues, r.source);
    const auto shown = format(lint(r.value), r.source);
    EXPECT_NE(shown, "") << file;
    auto pinned = file;
    pinned.replace_extension(".txt");
    if (updating()) std::ofstream(pinned, std::ios::binary) << shown;
    EXPECT_EQ(shown, read(pinned)) << file;
  }
}

// What the documentation shows must load and raise no eyebrow.
TEST(GoodFiles, LoadWithoutAWord) {
  const auto files = files_in(source_dir / "testdata" / "good", ".yaml");
  ASSERT_GT(files.size(), 2U);
  for (const auto& file : files) {
    const auto r = load_text(file.filename().string(), read(file));
    EXPECT_TRUE(r.ok()) << format(r.issues, r.source);
    EXPECT_EQ(format(lint(r.value), r.source), "") << file;
  }
}

// Whether a line of `shown` has the fixed parts of a message template, in order.
bool says(const std::vector<std::string>& shown, std::string text) {
  text = std::regex_replace(text, std::regex(R"(\\")"), "\"");
  const std::regex hole(R"(\{[^}]*\})");
  const std::vector<std::string> parts(
      std::sregex_token_iterator(text.begin(), text.end(), hole, -1), {});
  return std::any_of(shown.begin(), shown.end(), [&](const std::string& line) {
    std::size_t from = 0;
    return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
      from = line.find(part, from);
      if (from == std::string::npos) return false;
      from += part.size();
      return true;
    });
  });
}

// A message that no file provokes is a message that nobody has read.
TEST(BadFiles, CoverEveryMessage) {
  std::vector<std::string> shown;
  for (const char* kind : {"bad", "lint"}) {
    for (const auto& file : files_in(source_dir / "testdata" / kind, ".txt")) {
      std::istringstream lines(read(file));
      for (std::string line; std::getline(lines, line);) shown.push_back(line);
    }
  }
  shown.emplace_back("larger than 4 MiB");  // LoadText.BoundsTheFile; no such file is kept here
  // Said of flags and files that cannot be opened, which their own tests pin.
  const std::vector<std::string> elsewhere{"limit_flag.cpp", "overrides.cpp", "load.cpp"};
  const std::regex message(
      R"re((?:fail\(|fault\(s,|problem\{|refuse\([^"{]*\{\},|refuse\(place[^"]*|add\([^"]*(?:"[^"]*",)?)\s*(?:fmt::format\()?\s*"((?:[^"\\]|\\.)+)")re");
  int found = 0;
  for (const auto& file : files_in(source_dir, ".cpp")) {
    const auto name = file.filename().string();
    if (name.ends_with("_test.cpp") || std::count(elsewhere.begin(), elsewhere.end(), name) > 0)
      continue;
    const auto source = read(file);
    for (std::sregex_iterator i(source.begin(), source.end(), message), end; i != end; ++i) {
      ++found;
      EXPECT_TRUE(says(shown, (*i)[1])) << name << ": " << (*i)[1];
    }
  }
  EXPECT_GT(found, 90) << "the messages are written in another way now: mend the expression";
}

}  // namespace
}  // namespace penstock::config
