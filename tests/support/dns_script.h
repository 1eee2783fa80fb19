// SPDX-License-Identifier: BSD-3-Clause
// DnsScript: a name server on loopback, UDP and TCP, that says what the test tells it to, when it tells it to. It acts
// inside pump() and release() only, on one thread: that of the loop under test, so that a blocked loop gets no answer.
#pragma once

#include <cstdint>
#include <map>
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
  };

  DnsScript();

  // What it knows; every other name is NXDOMAIN.
  std::map<std::string, Entry, std::less<>> entries;

  // For ResolverOptions::servers.
  std::string server() const;
  // Answers what has come, unless it is held back.
  void pump();
  void hold() { held_ = true; }
  void release();
  // Questions that came, the two families of one name being two.
  size_t questions() const { return questions_; }
  size_t questions_over_tcp() const { return over_tcp_; }

 private:
  struct Late {
    std::string answer;
    SocketAddress to;
  };

  std::string answer(std::string_view question, bool over_tcp) const;
  void pump_tcp();
  void send(const Late& late);

  Fd udp_;
  Fd tcp_;
  std::vector<Fd> peers_;
  SocketAddress address_;
  std::vector<Late> late_;
  bool held_ = false;
  size_t questions_ = 0;
  size_t over_tcp_ = 0;
};

}  // namespace peal::test
