// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/worker.h>

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include <peal/base/log.h>
#include <peal/process/parts/report.h>

namespace peal {

Worker::Worker(const Facts& facts, std::vector<ListeningSocket> listening, Fd report_to)
    : facts_(facts), listening_(std::move(listening)), report_to_(std::move(report_to)) {}

std::vector<ListeningSocket> Worker::take_listening(std::string_view name) {
  std::vector<ListeningSocket> taken;
  for (ListeningSocket& socket : listening_) {
    if (name.empty() || socket.name == name) taken.push_back(std::move(socket));
  }
  std::erase_if(listening_, [](const ListeningSocket& socket) { return !socket.fd; });
  return taken;
}

void Worker::die_with_master() {
  if (facts_.master == 0) return;
  ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL));
  if (::getppid() != facts_.master) ::_exit(1);  // the master had ended before prctl(2)
}

Result<void> Worker::when_to_leave(Loop& loop, CopyableCallback<void(Leave)> on_leave) {
  die_with_master();
  auto shared = std::make_shared<CopyableCallback<void(Leave)>>(std::move(on_leave));
  const std::pair<int, Leave> ways[] = {
      {SIGTERM, Leave::kDrain}, {SIGHUP, Leave::kMakeRoom}, {SIGINT, Leave::kAtOnce}, {SIGQUIT, Leave::kAtOnce}};
  for (const auto& [number, how] : ways) {
    const Result<SignalId> heard = loop.on_signal(number, [this, shared, how] {
      leaving();
      (*shared)(how);
    });
    if (!heard) return std::unexpected(heard.error());
  }
  return {};
}

int Worker::run(Loop& loop, const Result<void>& prepared) {
  if (prepared) ready();
  const Result<void> done = prepared ? loop.run() : prepared;
  if (!done) PEAL_LOG_ERROR("worker {} cannot serve: {}", place(), done.error().message());
  return done ? 0 : 1;
}

void Worker::log(const DrainReport& report) const {
  PEAL_LOG_INFO("worker {} drained: {} finished, {} cut off, {} bytes lost here, {} in the kernel", place(),
                report.finished, report.forced, report.lost_bytes, report.lost_in_kernel_bytes);
}

// The result of send_report() is ignored: the report fails only if the master has ended, and then this worker is killed
// as well.
void Worker::ready() {
  die_with_master();
  detail::send_report(report_to_.get(), detail::ReportKind::kServes);
}

void Worker::leaving() {
  if (!std::exchange(reported_leaving_, true)) detail::send_report(report_to_.get(), detail::ReportKind::kLeaves);
}

}  // namespace peal
