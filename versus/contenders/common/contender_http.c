// SPDX-License-Identifier: BSD-3-Clause
// See contender_http.h.
#include "contender_http.h"

#include <string.h>
#include <time.h>

const char* http_date(void) {
  static _Thread_local char date[kHttpDateBytes + 1];
  static _Thread_local time_t date_is_of = -1;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);  // reads memory that the kernel shares; no system call
  if (now.tv_sec != date_is_of) {
    struct tm parts;
    gmtime_r(&now.tv_sec, &parts);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    date_is_of = now.tv_sec;
  }
  return date;
}

int http_is_page(const char* target, unsigned long size) {
  static const char page[] = "/collect";
  const char* query = memchr(target, '?', size);
  const unsigned long path = query == NULL ? size : (unsigned long)(query - target);
  return (path == 1 && target[0] == '/') || (path == sizeof page - 1 && memcmp(target, page, path) == 0);
}
