#include "admin/levels.hpp"

#include <filesystem>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

namespace penstock::admin {
namespace {

using telemetry::metric;

double seconds(instant t) {
  return std::chrono::duration<double>(t.time_since_epoch()).count();
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

void set_process(telemetry::metrics& counts) {
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0) {
    counts.set(metric::cpu_seconds, seconds(used.ru_utime) + seconds(used.ru_stime));
  }
  std::ifstream statm("/proc/self/statm");
  double size_pages = 0;
  double resident_pages = 0;
  if (statm >> size_pages >> resident_pages) {
    counts.set(metric::resident_memory,
               resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  }
  std::error_code failed;
  const std::filesystem::directory_iterator files("/proc/self/fd", failed);
  if (!failed) {
    counts.set(metric::open_files, static_cast<double>(std::distance(begin(files), end(files))));
  }
}

}  // namespace

void set_levels(telemetry::metrics& counts, operations& asks) {
  const auto truth = [](bool b) { return b ? 1.0 : 0.0; };
  const process_status s = asks.status();
  counts.set(metric::ready, truth(asks.ready().ready));
  counts.set(metric::start_time, seconds(s.started_at));
  counts.set(metric::workers, static_cast<double>(s.workers));
  counts.set(metric::policy_generation, static_cast<double>(s.policy_generation));
  counts.set(metric::policy_loaded, seconds(s.policy_loaded_at));
  counts.set(metric::policy_limits, static_cast<double>(asks.limits().size()));
  counts.set(metric::reload_ok, truth(s.reload_error.empty()));
  counts.set(metric::store_up, truth(s.store_up));
  counts.set(metric::breaker_open, truth(s.breaker_open));
  counts.set(metric::bans_active, static_cast<double>(asks.bans().size()));
  counts.set(metric::overrides_active, static_cast<double>(asks.overrides().size()));
  set_process(counts);
}

}  // namespace penstock::admin
