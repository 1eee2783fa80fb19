// SPDX-License-Identifier: BSD-3-Clause
// ResolverChannel: looks up the addresses of names in the hosts file and at name servers, with c-ares. The Resolver
// owns it and uses it on the loop's thread. It may be destroyed on any thread after the loop's end, but never inside an
// answer.
//
// The hosts file is asked first, for both families at once. A name that it does not have becomes two questions to the
// name server, A and AAAA; each answer is delivered when it comes. The domains of the search list are tried here and
// not by c-ares. c-ares, asked for one family, would go on to the next domain even if the other family has an address
// in this one.
//
// All questions share one UDP socket. When something fails over TCP, c-ares closes all sockets of that server and
// counts a try of every question that is open there. So the shared channel never uses TCP. If an answer does not fit a
// datagram, it is asked for again over TCP in a channel of its own.
//
// A burst of questions would overflow the buffers of the sockets at either end, and lost datagrams are asked again only
// seconds later. So only a few names are new at a time; the others wait. A name whose answers are slow makes room for
// the next one before it is answered. So names that nobody answers do not block those after them for long.
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
  // Called once, or twice if `more` is true in the first call. The first of two calls has the addresses of one family,
  // while the question for the other family is still open. The last call has addresses that were not delivered before,
  // or an error. An error means that there are no further addresses.
  using Answer = Callback<void(Result<Resolver::Addresses>, bool more)>;
  // Limit of names that are fresh. A name is fresh if it is not answered yet and was asked less than a twentieth of
  // try_timeout ago (100 ms by default).
  static constexpr size_t kMostFresh = 64;
  // Limit of questions that are asked over TCP at the same time. Each of them needs a socket and about 80 kB in c-ares.
  // While further questions wait, the oldest question over TCP fails with kNoAnswer if it has had no answer for a tenth
  // of try_timeout.
  static constexpr size_t kMostOverTcp = 32;

  // Creates a channel and reads ResolverOptions::resolv_conf. Errors: ENOMEM, EMFILE and other errnos;
  // Trouble::kBadAddress if ResolverOptions::servers contains something that is no address.
  static Result<std::unique_ptr<ResolverChannel>> make(Loop& loop, const ResolverOptions& options);
  ~ResolverChannel();
  ResolverChannel(const ResolverChannel&) = delete;
  ResolverChannel& operator=(const ResolverChannel&) = delete;

  // Asks for the addresses of `host`. `id` must not have been used before. May be called only while the loop runs.
  // `answer` is called inside this call or later from the loop, unless the question is dropped first. `answer` must not
  // call any function of this class.
  void ask(ResolveId id, const std::string& host, uint16_t port, Answer answer);
  // Drops a question: its `answer` will not be called. A question that waits or is asked over TCP ends now. c-ares
  // cannot take back a question that was sent over UDP; such a question ends when c-ares has finished it. Unknown ids
  // are ignored. Must not be called inside an `answer`.
  void drop(ResolveId id);
  // Drops every question and closes the sockets. Must not be called inside an `answer`.
  void cancel_all();
  // Returns how many names are pending: the names that c-ares works on, and the names that wait until c-ares may be
  // asked.
  size_t questions() const { return questions_.size(); }
  // Returns whether resolv.conf has changed since this channel read it. A missing file does not count as changed, since
  // it is probably being replaced. Makes one call of stat(2).
  bool is_outdated() const;

 private:
  struct Question;
  struct Half;
  // The fields of stat(2) that show whether a file has changed.
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
  // Ends the A question, the AAAA question or both of `question` if they are in over_tcp_. If `question` is null, ends
  // all questions in over_tcp_.
  void take_back(const Question* question);
  static FileStamp stamp_of(const std::string& path);
  static void answered(void* half, int status, int timeouts, unsigned char* message, int size);
  static void answered_over_tcp(void* half, int status, int timeouts, unsigned char* message, int size);
  static void conclude(const Half& half, int status, unsigned char* message, int size);

  Loop& loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  const ResolverOptions options_;
  const FileStamp stamp_;             // of resolv.conf, taken before it was read
  std::vector<std::string> domains_;  // the domains of the search list
  // A name with at least this many dots is asked unchanged first, before the domains of the search list are tried
  // (ndots in resolv.conf(5)).
  size_t dots_ = 1;
  std::map<ResolveId, std::shared_ptr<Question>> questions_;
  // Ids of the questions that c-ares was not asked yet. They are asked when fewer than kMostFresh questions are fresh.
  std::set<ResolveId> waiting_;
  // Number of questions that are fresh now, as kMostFresh defines it: asked a short time ago and not answered yet.
  size_t fresh_ = 0;
  AresWire hosts_;  // looks only into the hosts file
  AresWire udp_;    // asks the name servers over UDP
  // Questions that must be asked over TCP, oldest first. The first kMostOverTcp of these questions are being asked; the
  // others wait.
  std::vector<std::unique_ptr<Half>> over_tcp_;
  TimerId crowded_;  // set while questions in over_tcp_ wait; ends the oldest question when it is too slow
};

}  // namespace peal::detail
