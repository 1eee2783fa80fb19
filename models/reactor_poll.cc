// SPDX-License-Identifier: BSD-3-Clause
// reactor_poll (PollReactorSingleProcess): one thread, connections that do not block, and a list instead of bits.
//
//   list of {fd, asked, answered} ─> poll(2) ─> look at every entry ──┬─ listener: accept, append
//          ^                                                          └─ connection: read ─> frames ─> work ─> write
//          └──────────── write into its entry what each wants next <───────────────────┘
//
// Who accepts, reads, computes and writes: the one thread; work never changes hands. The answer stands beside the
// question, so nothing is overwritten and nothing copied, and an fd may have any number: the limit of select is gone.
// What stays is the cost: every wait carries the whole list into the kernel, and it is searched here afterwards.
//
// What it cannot do: wait for thousands that are idle as cheaply as for those that are ready; else as reactor_epoll.
#include <poll.h>

#include <cerrno>
#include <vector>

#include <models/common/reactor/level_service.h>
#include <models/common/reactor/wait_time.h>
#include <models/models.h>

namespace peal::models {
namespace {

// The first two of the list; clients follow in any order.
constexpr size_t kStop = 0, kListener = 1, kFirstClient = 2;

short events_for(Wants wants) { return wants == Wants::kWrite ? POLLOUT : POLLIN; }

}  // namespace

Result<void> reactor_poll(ModelRun& run) {
  LevelService service(run);
  std::vector<pollfd> list{{.fd = run.stop.fd(), .events = POLLIN, .revents = 0},
                           {.fd = run.listener.get(), .events = POLLIN, .revents = 0}};
  const auto takes = [&](int fd) {
    list.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    return true;
  };
  for (;;) {
    list[kListener].fd = service.accepting() ? run.listener.get() : -1;  // -1 is passed over
    int left = ::poll(list.data(), list.size(), wait_ms(service.next_deadline()));
    if (left < 0 && errno != EINTR) return fail(errno);
    if (list[kStop].revents != 0) return {};
    if (left > 0 && list[kListener].revents != 0) {
      --left;
      service.accept(takes);
    }
    for (size_t i = kFirstClient; left > 0; ++i) {
      if (list[i].revents == 0) continue;
      --left;
      const Wants wants = service.serve(list[i].fd);
      list[i].events = events_for(wants);
      if (wants != Wants::kClose) continue;
      list[i--] = list.back();  // which has not been looked at
      list.pop_back();
    }
    service.close_late([&](int fd) { std::erase_if(list, [fd](const pollfd& entry) { return entry.fd == fd; }); });
  }
}

}  // namespace peal::models
