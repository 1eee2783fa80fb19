// SPDX-License-Identifier: BSD-3-Clause
// reactor_poll (PollReactorSingleProcess): one thread, non-blocking connections, and a list instead of bits.
//
//   list of {fd, asked, answered} ─> poll(2) ─> look at every entry ──┬─ listener: accept, append
//          ^                                                          └─ connection: read ─> frames ─> work ─> write
//          └──────────── write into its entry what each wants next <───────────────────┘
//
// One thread accepts, reads, computes and writes. An entry of the list has one field for the wanted events and another
// one for the reported events, so nothing is overwritten or copied. An fd may have any number: select's limit does not
// exist. The cost is still the same. Each wait passes the whole list to the kernel, and afterwards the program searches
// the list.
//
// Limits: an idle connection makes each wait as expensive as a busy connection does. Otherwise the limits are those of
// reactor_epoll.
#include <poll.h>

#include <cerrno>
#include <vector>

#include <models/common/reactor/level_service.h>
#include <models/common/reactor/wait_time.h>
#include <models/models.h>

namespace peal::models {
namespace {

// The order of the entries in the list that is passed to poll(2): the stop signal, the listener, then all clients.
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
    list[kListener].fd = service.accepting() ? run.listener.get() : -1;  // poll(2) skips -1
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
      list[i--] = list.back();  // the last entry moves to index i and is checked next
      list.pop_back();
    }
    service.close_late([&](int fd) { std::erase_if(list, [fd](const pollfd& entry) { return entry.fd == fd; }); });
  }
}

}  // namespace peal::models
