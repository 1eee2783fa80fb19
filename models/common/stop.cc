// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/stop.h>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include <peal/base/assert.h>

namespace peal::models {

sigset_t Stop::signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  return set;
}

Result<Stop> Stop::make() {
  const sigset_t set = signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail(errno);
  return Stop(std::move(fd));
}

Result<Fd> Stop::make_epoll() const {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail(errno);
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd_.get(), &event) != 0) return fail(errno);
  return epoll;
}

bool Stop::asked() const {
  pollfd entry{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) == 1;
}

Result<std::unique_ptr<BlockedThreads>> BlockedThreads::start(const Stop& stop) {
  std::unique_ptr<BlockedThreads> sleepers(new BlockedThreads(stop));
  sleepers->end_.reset(::eventfd(0, EFD_CLOEXEC));
  if (!sleepers->end_) return fail(errno);
  auto thread = Thread::start("stop", [self = sleepers.get()](const std::stop_token&) {
    std::array entries{pollfd{.fd = self->stop_.fd(), .events = POLLIN, .revents = 0},
                       pollfd{.fd = self->end_.get(), .events = POLLIN, .revents = 0}};
    while (::poll(entries.data(), entries.size(), -1) < 0 && errno == EINTR) {
    }
    if (entries[0].revents != 0) self->wake_all();
  });
  if (!thread) return std::unexpected(thread.error());
  sleepers->thread_ = std::move(*thread);
  return sleepers;
}

BlockedThreads::~BlockedThreads() {
  if (!thread_.joinable()) return;
  const int done = ::eventfd_write(end_.get(), 1);
  PEAL_ASSERT(done == 0, "eventfd_write failed");
  thread_.join();
  MutexLock lock(mutex_);
  PEAL_ASSERT(sockets_.empty(), "{} sockets still have a Place", sockets_.size());
}

void BlockedThreads::wake_all() {
  MutexLock lock(mutex_);
  stopping_.store(true, std::memory_order_relaxed);
  for (int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
}

void BlockedThreads::wait_until_left() {
  MutexLock lock(mutex_);
  while (!sockets_.empty()) left_.wait(mutex_);
}

BlockedThreads::Place::Place(BlockedThreads& sleepers, int socket) : sleepers_(sleepers), socket_(socket) {
  MutexLock lock(sleepers_.mutex_);
  const bool added = sleepers_.sockets_.insert(socket).second;
  PEAL_ASSERT(added, "socket {} already has a Place", socket);
  if (sleepers_.stopping()) ::shutdown(socket, SHUT_RDWR);
}

BlockedThreads::Place::~Place() {
  MutexLock lock(sleepers_.mutex_);
  sleepers_.sockets_.erase(socket_);
  if (sleepers_.sockets_.empty()) sleepers_.left_.notify_all();
}

}  // namespace peal::models
