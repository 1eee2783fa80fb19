// SPDX-License-Identifier: BSD-3-Clause
// DnsScript: a name server on loopback, for UDP and TCP. The test sets its answers and decides when they are sent. The
// server works only while the test calls pump() or release() on the thread of the tested loop. A loop that is blocked
// therefore gets no answer.
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
    std::vector<std::string> addresses = {};  // numeric, IPv4 or IPv6
    int rcode = 0;                            // for example 2, SERVFAIL
    bool mute = false;
    bool truncated = false;  // if true, the answer over UDP is cut short, so that the client asks again over TCP
    bool mute_over_tcp = false;
    bool late = false;  // the answer is held back until release()
    // The names of CNAME records, which are sent before the addresses. The requested name refers to the first alias,
    // and each alias refers to the next one.
    std::vector<std::string> aliases = {};
  };

  // The first constructor listens at a port of 127.0.0.1 that is free for UDP and TCP. The second constructor listens
  // at `address`. If `address` is already in use for UDP or TCP, is_open() returns false.
  DnsScript();
  explicit DnsScript(const SocketAddress& address);
  bool is_open() const { return udp_ && tcp_; }

  // The answers, by name. A key is a name, such as "a.test", or a name and a type, such as "a.test AAAA". A key with
  // the type takes precedence. A name without a key gets the answer NXDOMAIN.
  std::map<std::string, Entry, std::less<>> entries;

  // Returns the server's address as a string for ResolverOptions::servers.
  std::string server() const;
  // Answers the questions that have arrived. Two kinds of UDP answers are kept until release() sends them: all answers
  // after hold(), and the answers of an Entry whose `late` is true.
  void pump();
  void hold() { held_ = true; }
  void release();
  // From now on, refuses TCP connections.
  void refuse_tcp();
  // From now on, answers the first question of each TCP connection with `bytes`, then closes the connection.
  void break_tcp(std::string bytes) { tcp_says_ = std::move(bytes); }
  // From now on, closes each TCP connection after the first answer on it.
  void answer_once_a_connection() { one_answer_ = true; }
  // Returns how many answers wait for release().
  size_t held_back() const { return late_.size(); }
  // Returns how many questions have come over UDP. A lookup of IPv4 and IPv6 addresses asks two questions.
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
