#include "config/reference.hpp"

#include <fmt/format.h>

#include "config/sections/sections.hpp"

namespace penstock::config {
namespace {

constexpr std::string_view head = R"(# Configuration

One YAML file, UTF-8, at most 4 MiB, nested at most 32 deep, without anchors, aliases and tags. Unknown
and repeated keys are errors. `penstock check FILE` reports every problem with its place, then what is
allowed but most likely not meant.

This page is made from the tables that read the file; `config_test` fails when the two differ, and
`PENSTOCK_UPDATE_GOLDEN=1 config_test` writes it anew.

The smallest useful file:

```yaml
version: 1
gateway: { listen: "127.0.0.1:8080", upstream: "http://127.0.0.1:3000" }
limits:
  - { name: per-client, key: address, rate: 10/s, burst: 20 }
```

## Values

| value | written as |
|---|---|
| duration | a whole number and a unit: `500us`, `20ms`, `10s`, `15min`, `1h`, `30d` |
| size | bytes, or with a binary unit: `1500`, `8KiB`, `64MiB`, `1GiB`, `1TiB` |
| rate | units per period: `10/s`, `100/min`, `5000/10min`; `0` denies all, `unlimited` admits all |
| address (to listen on) | `HOST:PORT`, `:PORT`, `[::1]:80`, `unix:PATH`; port 0 picks a free one |
| address range | `192.0.2.7`, `10.0.0.0/8`, `"fd00::/8"`; no bits behind the prefix |
| key expression | `address`, `user + route`, `api_key \| user \| address`, `header(X-Tenant)` |
| path pattern | `/login`, `/users/{id}/export`, `/a/*/b`, `/api/**`; wildcards are whole segments |
| name | 1 to 64 of `A-Z a-z 0-9 . _ -` |

Quotes are needed where YAML gives a sign a meaning: around a text that begins with `*`, `[`, `{`, `&`,
`!`, `@` or `%`, and around a path with `{…}` inside `{ }`.

## The --limit flag

`penstock serve --limit 'KEY RATE [burst N | queue N] [ALGORITHM]'` adds a limit that reads like the
file: `address 10/s burst 20`, `header(X-API-Key) 100/min sliding_window_counter`. With `queue N` the
algorithm is leaky_bucket unless another is named. The limit's name is made from key and rate
(`address-10-s`).

## Flags and environment

A flag wins over its environment variable, both win over the file.

| flag | variable | replaces |
|---|---|---|
| `--listen` | `PENSTOCK_LISTEN` | `gateway.listen` |
| `--upstream` (repeatable) | `PENSTOCK_UPSTREAM` (commas between) | `gateway.upstream` |
| `--limit` (repeatable) | `PENSTOCK_LIMIT` (semicolons between) | nothing: adds a limit |
| `--store` | `PENSTOCK_STORE` | `store.url` |
| `--decision-http`, `--decision-grpc`, `--decision-redis` | `PENSTOCK_DECISION_HTTP`, `…_GRPC`, `…_REDIS` | `decision` |
| `--admin` | `PENSTOCK_ADMIN` | `admin.listen` |
| `--health` | `PENSTOCK_HEALTH` | `health.listen` |
| `--workers` | `PENSTOCK_WORKERS` | `workers` |

## Keys
)";

// '|' would end a cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string fallback(std::string_view text) {
  if (text == required) return "**required**";
  return text == "none" ? "none" : fmt::format("`{}`", cell(text));
}

}  // namespace

std::string reference_page() {
  std::string out(head);
  for (const auto& section : all_sections()) {
    out += section.path.empty() ? "\n### Top level\n" : fmt::format("\n### {}\n", section.path);
    if (!section.intro.empty()) out += fmt::format("\n{}\n", section.intro);
    out += "\n| key | value | default | what it says |\n|---|---|---|---|\n";
    for (const auto& f : section.fields) {
      out += fmt::format("| `{}` | {} | {} | {} |\n", f.key, cell(f.type), fallback(f.fallback),
                         cell(f.text));
    }
  }
  return out;
}

}  // namespace penstock::config
