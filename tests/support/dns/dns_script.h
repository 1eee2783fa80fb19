// SPDX-License-Identifier: BSD-3-Clause
// DnsScript: a name server on loopback, UDP and TCP, that says what the test tells it to, when it tells it to. It acts
// inside pump() and release() only, on one thread: that of the loop under test, so that a blocked loop gets no answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/fd.h>
#include <peal/base/socket_address.h>

namespace peal::test {

class DnsScript {
 public:
  struct Entry {
    std::vector<std::string> addresses = {};  // numeric, IPv4 and IPv6
    int rcode = 0;                            // 2: SERVFAIL
    bool mute = false;
    bool truncated = false;  // over UDP: the client comes again over TCP
    bool mute_over_tcp = false;
    bool late = false;                      // held back until release()
    std::vector<std::string> aliases = {};  // CNAMEs in front of the addresses, each of the one before
  };

  // At a free port of 127.0.0.1, or at `address`, where it is not open if that may not be had.
  DnsScript();
  explicit DnsScript(const SocketAddress& address);
  bool is_open() const { return udp_ && tcp_; }

  // What it knows; every other name is NXDOMAIN. One that ends in " A" or " AAAA" goes first, for that type.
  std::map<std::string, Entry, std::less<>> entries;

  // For ResolverOptions::servers.
  std::string server() const;
  // Answers what has come, unless it is held back.
  void pump();
  void hold() { held_ = true; }
  void release();
  // From now on TCP is refused.
  void refuse_tcp();
  // From now on a question over TCP gets these bytes instead of an answer, and its connection is closed.
  void break_tcp(std::string bytes) { tcp_says_ = std::move(bytes); }
  // From now on each TCP connection is closed behind its first answer.
  void answer_once_a_connection() { one_answer_ = true; }
  // Answers that are held back.
  size_t held_back() const { return late_.size(); }
  // Questions that came, the two families of one name being two.
  size_t questions() const { return questions_; }
  size_t questions_over_tcp() const { return over_tcp_; }

 private:
  struct Late {
    std::string answer;
    SocketAddress to;
    bool held = false;
  };

  Late answer(std::string_view question, bool over_tcp) const;
  void pump_tcp();
  bool serve_tcp(const Fd& peer);
  void send(const Late& late);

  Fd udp_;
  Fd tcp_;
  std::vector<Fd> peers_;
  SocketAddress address_;
  std::vector<Late> late_;
  bool held_ = false;
  std::optional<std::string> tcp_says_;
  bool one_answer_ = false;
  size_t questions_ = 0;
  size_t over_tcp_ = 0;
};

}  // namespace peal::test
