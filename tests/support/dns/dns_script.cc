// SPDX-License-Identifier: BSD-3-Clause
// The DNS messages have the format of RFC 1035 4.1. Each contains one question.
#include <tests/support/dns/dns_script.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

#include <peal/engine/listening_socket.h>

namespace peal::test {
namespace {

constexpr size_t kHeaderBytes = 12;
constexpr int kNxDomain = 3;
constexpr uint16_t kTypeA = 1;
constexpr uint16_t kTypeAaaa = 28;
constexpr uint16_t kTypeCname = 5;

std::string number(size_t value) { return {static_cast<char>(value >> 8 & 0xff), static_cast<char>(value & 0xff)}; }

// Returns the data of a DNS record that holds `address`. Returns an empty string if `type` is for the other address
// family: A is for IPv4, AAAA is for IPv6.
std::string record_data(const std::string& address, uint16_t type) {
  std::array<char, sizeof(in6_addr)> bytes{};
  const bool v6 = address.find(':') != address.npos;
  EXPECT_EQ(::inet_pton(v6 ? AF_INET6 : AF_INET, address.c_str(), bytes.data()), 1) << address;
  if (type != (v6 ? kTypeAaaa : kTypeA)) return {};
  return {bytes.data(), v6 ? sizeof(in6_addr) : sizeof(in_addr)};
}

// Returns `name` in the format of a DNS message: in front of each label is its length (RFC 1035 3.1).
std::string name_data(std::string_view name) {
  std::string data;
  while (!name.empty()) {
    const std::string_view label = name.substr(0, name.find('.'));
    data += static_cast<char>(label.size());
    data += label;
    name.remove_prefix(std::min(name.size(), label.size() + 1));
  }
  return data + '\0';
}

}  // namespace

// Opens a UDP and a TCP socket on the same free port. A port that is free for one protocol may be taken for the other,
// so the constructor tries several ports. If it has found none after kMostTries further tries, the test fails.
DnsScript::DnsScript() : DnsScript(SocketAddress::parse("127.0.0.1:0").value()) {
  constexpr int kMostTries = 100;
  for (int i = 0; i < kMostTries && !is_open(); ++i) *this = DnsScript(SocketAddress::parse("127.0.0.1:0").value());
  EXPECT_TRUE(is_open());
}

DnsScript::DnsScript(const SocketAddress& address)
    : udp_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
      tcp_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  if (::bind(tcp_.get(), address.data(), address.size()) != 0) tcp_.reset();
  if (!tcp_) return;
  EXPECT_EQ(::listen(tcp_.get(), 128), 0);
  address_ = listening_address(tcp_.get()).value();
  if (::bind(udp_.get(), address_.data(), address_.size()) != 0) udp_.reset();
}

// Makes the kernel refuse TCP connections to the port. The listening socket is replaced by a socket that is bound to
// the same port, but does not listen. The new socket keeps the port taken, because a free port might go to an echo
// server of another test. An echo server would send each question back, and c-ares would take the question for an
// answer without an address.
void DnsScript::refuse_tcp() {
  tcp_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(tcp_.get(), address_.data(), address_.size()), 0);
}

std::string DnsScript::server() const { return address_.to_string(); }

DnsScript::Late DnsScript::answer(std::string_view question, bool over_tcp) const {
  std::string name;
  size_t at = kHeaderBytes;
  while (at < question.size() && question[at] != 0) {
    const auto length = static_cast<uint8_t>(question[at]);
    if (!name.empty()) name += '.';
    name += question.substr(at + 1, length);
    at += length + 1u;
  }
  if (at + 5 > question.size()) {
    ADD_FAILURE() << "a question is cut short after " << question.size() << " bytes";
    return {};
  }
  const auto type =
      static_cast<uint16_t>(static_cast<uint8_t>(question[at + 1]) << 8 | static_cast<uint8_t>(question[at + 2]));
  auto found = entries.find(name + (type == kTypeA ? " A" : " AAAA"));
  if (found == entries.end()) found = entries.find(name);
  const Entry entry = found == entries.end() ? Entry{.rcode = kNxDomain} : found->second;
  if (entry.mute || (over_tcp && entry.mute_over_tcp)) return {};
  std::string records;
  size_t count = 0;
  const bool truncated = entry.truncated && !over_tcp;
  // Adds a record of class IN with a time to live of 60 s.
  const auto add = [&](const std::string& owner, size_t kind, const std::string& data) {
    ++count;
    records += owner + number(kind) + number(1) + number(0) + number(60) + number(data.size()) + data;
  };
  std::string owner = number(0xc000 | kHeaderBytes);  // a pointer to the question's name
  for (const std::string& alias : entry.aliases) {
    if (truncated) break;
    add(owner, kTypeCname, name_data(alias));
    owner = name_data(alias);
  }
  for (const std::string& address : entry.addresses) {
    const std::string data = record_data(address, type);
    if (data.empty() || truncated) continue;
    add(owner, type, data);
  }
  // The value 0x8180 sets three flags: the message is a response, recursion is desired, and recursion is available.
  const size_t flags = 0x8180 | (truncated ? 0x0200 : 0) | static_cast<size_t>(entry.rcode);
  std::string text(question.substr(0, 2));
  text += number(flags) + number(1) + number(count) + number(0) + number(0);
  text += question.substr(kHeaderBytes, at + 5 - kHeaderBytes);
  return {text + records, {}, entry.late};
}

void DnsScript::send(const Late& late) {
  // Ignores the result of sendto(2), because the client may have closed its socket by now.
  ::sendto(udp_.get(), late.answer.data(), late.answer.size(), MSG_NOSIGNAL, late.to.data(), late.to.size());
}

void DnsScript::pump() {
  std::array<char, 512> bytes;
  for (;;) {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    const ssize_t got =
        ::recvfrom(udp_.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&storage), &size);
    if (got < 0) break;
    ++questions_;
    Late late = answer({bytes.data(), static_cast<size_t>(got)}, false);
    late.to = SocketAddress::from_kernel(reinterpret_cast<sockaddr*>(&storage), size);
    if (late.answer.empty()) continue;
    if (held_ || late.held) {
      late_.push_back(std::move(late));
    } else {
      send(late);
    }
  }
  pump_tcp();
}

void DnsScript::pump_tcp() {
  while (tcp_) {
    Fd peer(::accept4(tcp_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!peer) break;
    peers_.push_back(std::move(peer));
  }
  std::erase_if(peers_, [this](const Fd& peer) { return !serve_tcp(peer); });
}

// Answers the questions of one TCP connection. In front of each question is its length in two bytes (RFC 1035 4.2.2).
// The function does not join the parts of a question from two reads, because a small question arrives complete over
// loopback. Returns false if the peer has ended the connection. Also returns false after an answer that must be the
// last one, because of break_tcp() or answer_once_a_connection(). The caller then closes the connection.
bool DnsScript::serve_tcp(const Fd& peer) {
  std::array<char, 2048> bytes;
  const ssize_t got = ::recv(peer.get(), bytes.data(), bytes.size(), 0);
  std::string_view rest(bytes.data(), got > 0 ? static_cast<size_t>(got) : 0);
  while (rest.size() > 2) {
    const auto length = static_cast<size_t>(static_cast<uint8_t>(rest[0]) << 8 | static_cast<uint8_t>(rest[1]));
    ++over_tcp_;
    const std::string text = answer(rest.substr(2, length), true).answer;
    rest.remove_prefix(std::min(rest.size(), length + 2));
    if (text.empty()) continue;
    const std::string framed = tcp_says_.value_or(number(text.size()) + text);
    EXPECT_EQ(::send(peer.get(), framed.data(), framed.size(), MSG_NOSIGNAL), static_cast<ssize_t>(framed.size()));
    if (tcp_says_ || one_answer_) return false;
  }
  return got != 0;
}

void DnsScript::release() {
  held_ = false;
  for (const Late& late : late_) send(late);
  late_.clear();
}

}  // namespace peal::test
