/* Loaded before a program's libraries: moves its wall clock by the microseconds that stand in the file
 * STEPPED_CLOCK (eight octets, host order), at once and while it runs. The monotonic clocks stay as
 * they are. libfaketime cannot be loaded into a redis-server that uses jemalloc. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t offset_us(void) {
  static const volatile int64_t* shared;
  if (shared == NULL) {
    const char* path = getenv("STEPPED_CLOCK");
    const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    void* page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED) return 0;
    shared = page;
  }
  return *shared;
}

int clock_gettime(clockid_t clock, struct timespec* at) {
  const long failed = syscall(SYS_clock_gettime, clock, at);
  if (failed != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return (int)failed;
  const int64_t us = offset_us();
  at->tv_sec += us / 1000000;
  at->tv_nsec += us % 1000000 * 1000;
  if (at->tv_nsec < 0) {
    at->tv_sec -= 1;
    at->tv_nsec += 1000000000;
  } else if (at->tv_nsec >= 1000000000) {
    at->tv_sec += 1;
    at->tv_nsec -= 1000000000;
  }
  return 0;
}

int gettimeofday(struct timeval* restrict at, void* restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at != NULL) *at = now.tv_sec;
  return now.tv_sec;
}
