// SPDX-License-Identifier: BSD-3-Clause
#include <examples/proxy/socks.h>

#include <arpa/inet.h>

#include <array>
#include <string_view>
#include <utility>

namespace peal::examples {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr size_t kMostSocks4Bytes = 8 + 2 * 256;  // our limit: SOCKS 4 limits neither user nor host name
constexpr char kConnect = 1;

unsigned byte_at(std::string_view text, size_t index) { return static_cast<unsigned char>(text[index]); }
uint16_t port_at(std::string_view text, size_t index) {
  return static_cast<uint16_t>(byte_at(text, index) << 8 | byte_at(text, index + 1));
}

std::string ip_text(int family, std::string_view bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, bytes.data(), text.data(), text.size());
  return text.data();
}

}  // namespace

SocksHandshake::State SocksHandshake::take(Buffer& input) {
  if (input.empty()) return State::kMore;
  if (version_ == 0) version_ = static_cast<unsigned char>(input.front()[0]);
  if (version_ == 4) return take_socks4(input);
  if (version_ != 5) return hang_up("");
  return greeted_ ? take_socks5(input) : take_greeting(input);
}

std::string SocksHandshake::reply() { return std::exchange(reply_, {}); }

SocksHandshake::State SocksHandshake::hang_up(std::string reply) {
  reply_ = std::move(reply);
  return State::kHangUp;
}

// Reads a SOCKS 4 request: VN CD DSTPORT(2) DSTIP(4) USERID 0 [HOST 0].
// - VN is the version, and CD is the command. Each is one byte. Only the command CONNECT is accepted.
// - DSTPORT and DSTIP are the port and the IPv4 address of the target.
// - USERID is the name of the user, and is ignored.
// - HOST is the host name of the target, an extension of SOCKS 4a. A request contains HOST only if DSTIP is 0.0.0.x and
//   x is not 0.
SocksHandshake::State SocksHandshake::take_socks4(Buffer& input) {
  const std::string_view text = input.view();
  constexpr size_t kFixed = 8;
  const size_t user_end = text.size() < kFixed ? text.npos : text.find('\0', kFixed);
  const bool named = text.size() >= kFixed && text.substr(4, 3) == "\0\0\0"sv && text[7] != 0;
  const size_t host_end = named && user_end != text.npos ? text.find('\0', user_end + 1) : user_end;
  if (user_end == text.npos || host_end == text.npos) {
    return text.size() > kMostSocks4Bytes ? hang_up(refused({})) : State::kMore;
  }
  if (text[1] != kConnect) return hang_up(refused({}));
  const std::string host =
      named ? std::string(text.substr(user_end + 1, host_end - user_end - 1)) : ip_text(AF_INET, text.substr(4, 4));
  target_ = HostPort(host, port_at(text, 2));
  input.consume(host_end + 1);
  return State::kConnect;
}

// Reads the SOCKS 5 greeting: VER NMETHODS METHODS. METHODS lists the authentication methods that the client offers,
// one byte each. The proxy supports only the method 0, which means no authentication. If the client does not offer the
// method 0, returns kHangUp with the reply FF, which means that no method is acceptable. After a good greeting, returns
// kMore, because the request of the client must follow.
SocksHandshake::State SocksHandshake::take_greeting(Buffer& input) {
  const std::string_view text = input.view();
  if (text.size() < 2 || text.size() < 2 + byte_at(text, 1)) return State::kMore;
  const size_t size = 2 + byte_at(text, 1);
  const bool open = text.substr(2, size - 2).find('\0') != text.npos;
  input.consume(size);
  if (!open) return hang_up("\x05\xff");
  greeted_ = true;
  reply_ = "\x05\0"sv;
  return State::kMore;
}

// Reads a SOCKS 5 request: VER CMD RSV ATYP ADDR PORT(2).
// - VER is the version, and CMD is the command. Only the command CONNECT is accepted.
// - RSV is reserved and must be 0.
// - ATYP is the type of ADDR: an IPv4 address, an IPv6 address, or a host name after a byte with its length.
SocksHandshake::State SocksHandshake::take_socks5(Buffer& input) {
  const std::string_view text = input.view();
  constexpr size_t kFixed = 4;
  constexpr char kIpv4 = 1;
  constexpr char kName = 3;
  constexpr char kIpv6 = 4;
  if (text.size() < kFixed + 1) return State::kMore;
  if (text[0] != 5 || text[2] != 0) return hang_up(socks5_reply(1));
  const char type = text[3];
  if (type != kIpv4 && type != kName && type != kIpv6) return hang_up(socks5_reply(8));
  const size_t begin = type == kName ? kFixed + 1 : kFixed;
  const size_t size = type == kIpv4 ? 4 : type == kIpv6 ? 16 : byte_at(text, kFixed);
  if (text.size() < begin + size + 2) return State::kMore;
  if (text[1] != kConnect) return hang_up(socks5_reply(7));
  const std::string_view address = text.substr(begin, size);
  std::string host(address);
  if (type == kIpv4) host = ip_text(AF_INET, address);
  if (type == kIpv6) host = ip_text(AF_INET6, address);
  target_ = HostPort(host, port_at(text, begin + size));
  input.consume(begin + size + 2);
  return State::kConnect;
}

// Returns a SOCKS 5 reply. `code` is 0 if the target is connected, and otherwise names the error. RFC 1928 wants the
// address from which the proxy connects in the reply. This reply always contains 0.0.0.0:0, because clients usually
// ignore the address in the reply to CONNECT.
std::string SocksHandshake::socks5_reply(char code) const {
  return "\x05" + std::string(1, code) + "\0\1\0\0\0\0\0\0"s;
}

std::string SocksHandshake::granted() const { return version_ == 4 ? "\0\x5a\0\0\0\0\0\0"s : socks5_reply(0); }

std::string SocksHandshake::refused(std::error_code why) const {
  if (version_ == 4) return "\0\x5b\0\0\0\0\0\0"s;
  if (why == std::errc::connection_refused) return socks5_reply(5);
  if (why == std::errc::network_unreachable) return socks5_reply(3);
  return socks5_reply(why ? 4 : 1);  // 4: host unreachable, 1: general failure
}

}  // namespace peal::examples
