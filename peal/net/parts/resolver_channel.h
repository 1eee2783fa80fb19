// SPDX-License-Identifier: BSD-3-Clause
// ResolverChannel: names to addresses by the hosts file and by name servers, with c-ares. It belongs to the loop's
// thread; the Resolver owns it. It may be destroyed after the loop's end on any thread, but never inside an answer.
//
// The hosts file is asked first, for both families at once. What it does not know becomes two questions to the name
// server, A and AAAA, whose answers are shown as they come. The domains of a search list are tried here, not by c-ares:
// asked for one family, it would go on to the next domain where the other family has an address in this one.
//
// All questions share a UDP socket. Whatever fails over TCP must not touch them: c-ares closes all sockets of a server
// then, and counts a try of every question that is open there. So the shared channel never uses TCP. An answer that
// does not fit a datagram is asked for again over TCP, in a channel of that one question.
//
// A burst of questions would overflow the sockets' buffers at either end, and what is lost is asked again seconds
// later. So few names are new at a time; the others wait their turn. A name whose answers are slow makes room for the
// next one before it is answered: names that nobody answers do not hold up those behind them for long.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/result.h>
#include <peal/loop/loop.h>
#include <peal/net/parts/ares_wire.h>
#include <peal/net/resolver.h>

namespace peal::detail {

class ResolverChannel {
 public:
  // Comes once, or twice when `more` is true: with the addresses of one family, while the other's question is open.
  // The last one has addresses that were not shown before, or an error. An error means that there are no addresses
  // unless some were shown before.
  using Answer = Callback<void(Result<Resolver::Addresses>, bool more)>;
  // Names asked less than a twentieth of try_timeout ago, 100 ms by default, and not answered.
  static constexpr size_t kMostFresh = 64;
  // Questions asked over TCP at a time. Each has a socket, and about 80 kB in c-ares. While others wait, one that is
  // not answered within a tenth of try_timeout is given up for them, the oldest first: kNoAnswer.
  static constexpr size_t kMostOverTcp = 32;

  // Reads ResolverOptions::resolv_conf. ENOMEM, EMFILE and their like; Trouble::kBadAddress for servers that are no
  // addresses.
  static Result<std::unique_ptr<ResolverChannel>> make(Loop& loop, const ResolverOptions& options);
  ~ResolverChannel();
  ResolverChannel(const ResolverChannel&) = delete;
  ResolverChannel& operator=(const ResolverChannel&) = delete;

  // While the loop runs; `id` was not used before. Answers come inside this call or from the loop, unless the question
  // is cancelled. They may call nothing of this.
  void ask(ResolveId id, const std::string& host, uint16_t port, Answer answer);
  // The answer is not wanted any more, but may come. Takes back what waits and what is asked over TCP; what c-ares
  // has asked over UDP it cannot take back. Unknown ids are ignored. Not inside an answer.
  void drop(ResolveId id);
  // Drops every question and closes the sockets. Not inside an answer.
  void cancel_all();
  // Names that c-ares works on or that wait for it.
  size_t questions() const { return questions_.size(); }
  // Whether resolv.conf is not the file any more that this was made by. A file that is missing changes nothing: it is
  // being replaced. One stat(2).
  bool is_outdated() const;

 private:
  struct Question;
  struct Half;
  // What stat(2) tells a file's change by.
  using FileStamp = std::array<int64_t, 7>;

  ResolverChannel(Loop& loop, const ResolverOptions& options);
  Result<void> open();
  Result<void> read_search_list();
  Result<Resolver::Addresses> find_in_hosts(std::string_view host, uint16_t port);
  std::vector<std::string> names_to_ask(const std::string& host) const;
  void ask_waiting();
  void ask_waiting_over_tcp();
  void ask_fresh(const std::shared_ptr<Question>& question);
  void ask_next(const std::shared_ptr<Question>& question);
  void ask_over_tcp(Half& half);
  void make_room(Question& question);
  // From TCP: what is asked there of `question`, or of all where it is null.
  void take_back(const Question* question);
  static FileStamp stamp_of(const std::string& path);
  static void answered(void* half, int status, int timeouts, unsigned char* message, int size);
  static void answered_over_tcp(void* half, int status, int timeouts, unsigned char* message, int size);
  static void conclude(const Half& half, int status, unsigned char* message, int size);

  Loop& loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  const ResolverOptions options_;
  const FileStamp stamp_;             // of resolv.conf before it was read
  std::vector<std::string> domains_;  // of the search list
  size_t dots_ = 1;                   // a name with as many is asked as it is first (resolv.conf(5), ndots)
  std::map<ResolveId, std::shared_ptr<Question>> questions_;
  std::set<ResolveId> waiting_;                  // of the questions
  size_t fresh_ = 0;                             // of the others
  AresWire hosts_;                               // looks into the hosts file alone
  AresWire udp_;                                 // asks name servers
  std::vector<std::unique_ptr<Half>> over_tcp_;  // the first kMostOverTcp are asked, the others wait
  TimerId crowded_;                              // while some wait: the oldest is slow then
};

}  // namespace peal::detail
