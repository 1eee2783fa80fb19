// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/reactor/ready_poller.h>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include <models/common/reactor/by_fd.h>
#include <models/common/reactor/wait_time.h>
#include <peal/base/assert.h>
#include <peal/base/fd.h>

namespace peal::models {
namespace {

class SelectPoller final : public ReadyPoller {
 public:
  SelectPoller() {
    FD_ZERO(&readable_);
    FD_ZERO(&writable_);
  }
  Result<void> add(int fd, PollFor what, Wake) override {
    if (fd >= FD_SETSIZE) return fail(EMFILE);
    return change(fd, what);
  }
  Result<void> change(int fd, PollFor what) override {
    FD_CLR(fd, &readable_);
    FD_CLR(fd, &writable_);
    if (what == PollFor::kRead) FD_SET(fd, &readable_);
    if (what == PollFor::kWrite) FD_SET(fd, &writable_);
    highest_ = std::max(highest_, fd);
    while (highest_ >= 0 && !asked(highest_)) --highest_;
    return {};
  }
  // Passes copies of the fd sets to select(2), because select(2) overwrites its arguments with the result. Then tests
  // the bit of every fd in the result to find the ready fds.
  Result<std::span<const int>> wait(TimePoint deadline) override {
    fd_set readable = readable_;
    fd_set writable = writable_;
    const int ms = wait_ms(deadline);
    timeval left{.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};
    ready_.clear();
    int count = ::select(highest_ + 1, &readable, &writable, nullptr, ms < 0 ? nullptr : &left);
    if (count < 0 && errno != EINTR) return fail(errno);
    for (int fd = 0; fd <= highest_ && count > 0; ++fd) {
      if (!FD_ISSET(fd, &readable) && !FD_ISSET(fd, &writable)) continue;
      ready_.push_back(fd);
      --count;
    }
    return ready_;
  }

 private:
  bool asked(int fd) const { return FD_ISSET(fd, &readable_) || FD_ISSET(fd, &writable_); }

  fd_set readable_{};
  fd_set writable_{};
  int highest_ = -1;  // the highest fd that waits for reading or writing
  std::vector<int> ready_;
};

class PollPoller final : public ReadyPoller {
 public:
  Result<void> add(int fd, PollFor what, Wake) override {
    entry_of(places_, fd) = entries_.size();
    entries_.push_back({});
    return change(fd, what);
  }
  // Sets the event that `fd` waits for. If `what` is kNothing, stores a negative fd in the entry, because poll(2) skips
  // negative fds. With the real fd, poll(2) would still report a hang-up.
  Result<void> change(int fd, PollFor what) override {
    entries_[places_[static_cast<size_t>(fd)]] = {.fd = what == PollFor::kNothing ? ~fd : fd,
                                                  .events = what == PollFor::kWrite ? short{POLLOUT} : short{POLLIN},
                                                  .revents = 0};
    return {};
  }
  // Removes the entry of `fd` from the array entries_. The last entry moves to the index of the removed entry, so that
  // the array has no gap.
  void remove(int fd) override {
    const size_t place = places_[static_cast<size_t>(fd)];
    entries_[place] = entries_.back();
    entries_.pop_back();
    if (place == entries_.size()) return;
    const int moved = entries_[place].fd;
    places_[static_cast<size_t>(moved < 0 ? ~moved : moved)] = place;
  }
  Result<std::span<const int>> wait(TimePoint deadline) override {
    ready_.clear();
    int count = ::poll(entries_.data(), entries_.size(), wait_ms(deadline));
    if (count < 0 && errno != EINTR) return fail(errno);
    for (size_t i = 0; i < entries_.size() && count > 0; ++i) {
      if (entries_[i].revents == 0) continue;
      ready_.push_back(entries_[i].fd);
      --count;
    }
    return ready_;
  }

 private:
  std::vector<pollfd> entries_;
  std::vector<size_t> places_;  // indexed by fd
  std::vector<int> ready_;
};

class EpollPoller final : public ReadyPoller {
 public:
  EpollPoller(Fd epoll, size_t events_per_wait) : epoll_(std::move(epoll)), events_(events_per_wait) {}

  Result<void> add(int fd, PollFor what, Wake wake) override {
    entry_of(asked_, fd) = {.what = PollFor::kNothing, .wake = wake};
    return change(fd, what);
  }
  // Sets the event that `fd` waits for. If `what` is kNothing, removes `fd` from the epoll. If `fd` stayed in the
  // epoll, every epoll_wait(2) after a hang-up of `fd` would report the hang-up.
  Result<void> change(int fd, PollFor what) override {
    Asked& asked = asked_[static_cast<size_t>(fd)];
    if (asked.what == what) return {};
    epoll_event event{};
    event.events = what == PollFor::kWrite ? EPOLLOUT : EPOLLIN;
    if (asked.wake == Wake::kOne) event.events |= EPOLLEXCLUSIVE;
    event.data.fd = fd;
    int operation = EPOLL_CTL_MOD;
    if (asked.what == PollFor::kNothing) operation = EPOLL_CTL_ADD;
    if (what == PollFor::kNothing) operation = EPOLL_CTL_DEL;
    if (::epoll_ctl(epoll_.get(), operation, fd, &event) != 0) return fail(errno);
    asked.what = what;
    return {};
  }
  Result<std::span<const int>> wait(TimePoint deadline) override {
    ready_.clear();
    const int most = static_cast<int>(events_.size());
    const int count = ::epoll_wait(epoll_.get(), events_.data(), most, wait_ms(deadline));
    if (count < 0 && errno != EINTR) return fail(errno);
    for (int i = 0; i < count; ++i) ready_.push_back(events_[static_cast<size_t>(i)].data.fd);
    return ready_;
  }

 private:
  struct Asked {
    PollFor what = PollFor::kNothing;
    Wake wake = Wake::kAll;
  };

  const Fd epoll_;
  std::vector<epoll_event> events_;
  std::vector<Asked> asked_;  // indexed by fd
  std::vector<int> ready_;
};

}  // namespace

void ReadyPoller::remove(int fd) {
  const Result<void> done = change(fd, PollFor::kNothing);
  PEAL_ASSERT(done.has_value(), "the poller cannot remove fd {}: {}", fd, done.error().message());
}

Result<std::unique_ptr<ReadyPoller>> ReadyPoller::make(PollerKind kind, size_t events_per_wait) {
  if (kind == PollerKind::kSelect) return std::make_unique<SelectPoller>();
  if (kind == PollerKind::kPoll) return std::make_unique<PollPoller>();
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail(errno);
  return std::make_unique<EpollPoller>(std::move(epoll), events_per_wait);
}

}  // namespace peal::models
