// SPDX-License-Identifier: BSD-3-Clause
// ResolverChannel: c-ares driven by a loop: its sockets are watches, its timeouts a timer. The one file pair that
// speaks c-ares. It belongs to the loop's thread; the Resolver owns it. It may be destroyed after the loop's end on any
// thread, but never inside an answer.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <peal/base/callback.h>
#include <peal/base/result.h>
#include <peal/loop/loop.h>
#include <peal/loop/watch.h>
#include <peal/net/resolver.h>

// c-ares' names. NOLINTBEGIN(readability-identifier-naming)
struct ares_addrinfo;
struct ares_channeldata;
// NOLINTEND(readability-identifier-naming)

namespace peal::detail {

class ResolverChannel {
 public:
  using Answer = Callback<void(Result<Resolver::Addresses>)>;

  // Reads /etc/resolv.conf. ENOMEM, EMFILE and their like; Trouble::kBadAddress for servers that are no addresses.
  static Result<std::unique_ptr<ResolverChannel>> make(Loop& loop, const ResolverOptions& options);
  ~ResolverChannel();
  ResolverChannel(const ResolverChannel&) = delete;
  ResolverChannel& operator=(const ResolverChannel&) = delete;

  // While the loop runs. The answer comes once, inside this call or from the loop, unless the question is cancelled. It
  // may call nothing of this.
  void ask(const std::string& host, uint16_t port, Answer answer);
  // Drops every question and closes the sockets.
  void cancel_all();
  size_t questions() const { return questions_; }

 private:
  struct Question;
  // The fd is ours until c-ares closes it, whatever becomes of the watch.
  struct Socket {
    Fd fd;
    std::unique_ptr<Watch> watch;
  };
  struct Calls;

  explicit ResolverChannel(Loop& loop);
  Result<void> open(const ResolverOptions& options);
  void process(int readable_fd, int writable_fd);
  void follow_timeouts();
  static void answered(void* question, int status, int timeouts, ares_addrinfo* info);

  Loop& loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  ares_channeldata* channel_ = nullptr;
  std::map<int, Socket> sockets_;  // by fd; c-ares has them open
  TimerId timer_;
  size_t questions_ = 0;
};

}  // namespace peal::detail
