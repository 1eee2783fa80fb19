// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/parts/report.h>

#include <sys/socket.h>
#include <unistd.h>

namespace peal::detail {

bool send_report(int fd, ReportKind kind) {
  const Report report{.pid = ::getpid(), .kind = kind};
  const bool serves = kind == ReportKind::kServes;
  const size_t size = serves ? sizeof report.pid : sizeof report;
  return ::send(fd, &report, size, MSG_NOSIGNAL | (serves ? 0 : MSG_DONTWAIT)) == static_cast<ssize_t>(size);
}

std::optional<Report> receive_report(int fd) {
  Report report;
  const ssize_t size = ::recv(fd, &report, sizeof report, MSG_DONTWAIT);
  if (size != sizeof report.pid && size != sizeof report) return std::nullopt;
  return report;
}

}  // namespace peal::detail
