// SPDX-License-Identifier: BSD-3-Clause
// ResolverChannel: c-ares driven by a loop: its sockets are watches, its timeouts a timer. The one file pair that
// speaks c-ares. It belongs to the loop's thread; the Resolver owns it. It may be destroyed after the loop's end on any
// thread, but never inside an answer.
//
// The hosts file is asked first, for both families at once. What it does not know becomes two questions to the name
// server, A and AAAA, whose answers are shown as they come. The domains of a search list are tried here, not by c-ares:
// asked for one family, it would go on to the next domain where the other family has an address in this one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

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
  // Comes once, or twice when `more` is true: with the addresses of one family, while the other's question is open.
  // The last one has addresses that were not shown before, or an error. An error means that there are no addresses
  // unless some were shown before.
  using Answer = Callback<void(Result<Resolver::Addresses>, bool more)>;

  // Reads ResolverOptions::resolv_conf. ENOMEM, EMFILE and their like; Trouble::kBadAddress for servers that are no
  // addresses.
  static Result<std::unique_ptr<ResolverChannel>> make(Loop& loop, const ResolverOptions& options);
  ~ResolverChannel();
  ResolverChannel(const ResolverChannel&) = delete;
  ResolverChannel& operator=(const ResolverChannel&) = delete;

  // While the loop runs. Answers come inside this call or from the loop, unless the question is cancelled. They may
  // call nothing of this.
  void ask(const std::string& host, uint16_t port, Answer answer);
  // Drops every question and closes the sockets.
  void cancel_all();
  // Names that c-ares still works on.
  size_t questions() const { return questions_; }
  // Whether resolv.conf is not the file any more that this was made by. A file that is missing changes nothing: it is
  // being replaced. One stat(2).
  bool is_outdated() const;

 private:
  struct Question;
  // What stat(2) tells a file's change by.
  using FileStamp = std::array<int64_t, 7>;
  // The fd is ours until c-ares closes it, whatever becomes of the watch.
  struct Socket {
    Fd fd;
    std::unique_ptr<Watch> watch;
  };
  struct Calls;

  ResolverChannel(Loop& loop, const ResolverOptions& options);
  Result<void> open();
  Result<ares_channeldata*> make_channel(const char* lookups, std::string resolv_conf);
  Result<void> read_search_list();
  Result<Resolver::Addresses> find_in_hosts(std::string_view host, uint16_t port);
  std::vector<std::string> names_to_ask(const std::string& host) const;
  void ask_next(const std::shared_ptr<Question>& question);
  void process(int readable_fd, int writable_fd);
  void follow_timeouts();
  static FileStamp stamp_of(const std::string& path);
  static void answered(void* half, int status, int timeouts, ares_addrinfo* info);

  Loop& loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  const ResolverOptions options_;
  const FileStamp stamp_;                // of resolv.conf before it was read
  ares_channeldata* hosts_ = nullptr;    // looks into the hosts file alone
  ares_channeldata* channel_ = nullptr;  // asks name servers
  std::vector<std::string> domains_;     // of the search list
  size_t dots_ = 1;                      // a name with as many is asked as it is first (resolv.conf(5), ndots)
  std::map<int, Socket> sockets_;        // by fd; c-ares has them open
  TimerId timer_;
  size_t questions_ = 0;
};

}  // namespace peal::detail
