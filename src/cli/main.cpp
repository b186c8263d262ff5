// The command line: which command, which flags. What a command does is in its own file.
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/explain_command.hpp"
#include "cli/import_command.hpp"
#include "cli/operator/operator_commands.hpp"
#include "cli/serve_flags.hpp"

namespace {

using namespace penstock;

// One line for each option, so that the help of a command fits one screen.
class compact_formatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string left =
        "  " + (is_positional ? option->get_name(true) : option->get_name(false, true));
    if (const auto& kind = option->get_type_name(); !is_positional && !kind.empty()) {
      left += " " + kind;
    }
    left.resize(std::max<std::size_t>(left.size() + 1, 28), ' ');
    return left + option->get_description() + "\n";
  }
};

void add_serve(CLI::App& app, cli::serve_flags& flags) {
  auto* serve = app.add_subcommand("serve", "protect an API: gateway in front of it");
  auto& over = flags.over;
  serve->add_option("-c,--config", flags.file, "policy file; flags override it")->type_name("FILE");
  serve->add_option("--listen", over.listen, "gateway address")->type_name("ADDR");
  serve->add_option("--upstream", over.upstreams, "the API behind the gateway; may be repeated")
      ->type_name("URL")
      ->allow_extra_args(false);
  serve
      ->add_option("--limit", over.limits,
                   "'KEY RATE [burst N | queue N] [ALGORITHM]', may be repeated")
      ->type_name("LIMIT")
      ->allow_extra_args(false);
  serve->add_option("--store", over.store, "shared counters; default: this process's memory")
      ->type_name("URL");
  serve->add_option("--decision-http", over.decision_http, "address of /v1/auth and /v1/check")
      ->type_name("ADDR");
  serve->add_option("--admin", over.admin, "dashboard and admin API: loopback, or with a token")
      ->type_name("ADDR");
  serve->add_option("--health", over.health, "/livez, /readyz and /metrics")->type_name("ADDR");
  serve->add_option("--workers", over.workers, "event loops; default: one per CPU")->type_name("N");
  serve->footer(
      "ADDR is HOST:PORT, :PORT or unix:PATH; port 0 picks a free one, and the start-up line on\n"
      "standard error names it. Every flag has a PENSTOCK_* environment variable "
      "(PENSTOCK_LISTEN,\n"
      "PENSTOCK_UPSTREAM, PENSTOCK_LIMIT, ...). SIGTERM finishes what is in flight and ends.\n\n"
      "  penstock serve -c policy.yaml\n"
      "  penstock serve --listen :8080 --upstream http://127.0.0.1:3000 --limit 'address 10/s "
      "burst 20'");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Penstock: exact rate limiting for HTTP APIs", "penstock"};
  app.require_subcommand(1);
  app.formatter(std::make_shared<compact_formatter>());

  cli::serve_flags serve;
  add_serve(app, serve);
  std::vector<std::string> files;
  auto* check = app.add_subcommand("check", "validate and lint policy files");
  check->add_option("FILE", files, "policy files; - is standard input")->required();
  cli::explain_flags explain;
  auto* explains = app.add_subcommand("explain", "one request through a policy, step by step");
  explains->add_option("FILE", explain.file, "policy file")->required();
  explains->add_option("--method", explain.method, "request method")->type_name("M");
  explains->add_option("--path", explain.path, "request target")->type_name("P");
  explains->add_option("--peer", explain.peer, "address of the connection's other end")
      ->type_name("IP");
  explains->add_option("-H", explain.fields, "'Name: value', may be repeated")
      ->type_name("FIELD")
      ->allow_extra_args(false);
  const cli::import_commands imports(app);
  const cli::operator_commands operators(app);
  auto* version = app.add_subcommand("version", "print the version");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    // CLI11 prints help and messages itself; its own codes are folded into the documented ones.
    return app.exit(problem) == 0 ? cli::exit_fine : cli::exit_usage;
  }
  try {
    if (version->parsed()) return cli::version_command();
    if (check->parsed()) return cli::check_command(files);
    if (explains->parsed()) return cli::explain_command(explain);
    if (const auto code = imports.run()) return *code;
    if (const auto code = operators.run()) return *code;
    return cli::serve_command(serve);
  } catch (const std::exception& unexpected) {
    std::fprintf(stderr, "penstock: internal error: %s\n", unexpected.what());
    return cli::exit_failure;
  }
}
