// SPDX-License-Identifier: BSD-3-Clause
// HttpProxies: by which proxies an HttpClient reaches whom. Values; any thread.
//
//   options.proxies = {.http = "http://proxy.example:3128", .https = "http://proxy.example:3128"};
//   options.proxies = peal::HttpProxies::from_environment().value();   // if that is what the user wants
//
// http goes to the proxy as it is, with the whole URL for its target (RFC 9112 3.2.2). https, and whatever may change
// the protocol (HttpClientRequest::may_upgrade), goes through a tunnel that the proxy is asked for (CONNECT, RFC 9110
// 9.3.6): it sees the host and the port, and the handshake inside is with the server. A request with connect_to goes
// where that says. To the proxy itself peal speaks plain HTTP/1.1.
//
// Name and password are for the proxy alone ("Basic", RFC 7617): they go with CONNECT and with requests of http, unless
// such a request has a Proxy-Authorization of its own; through a tunnel goes no Proxy-Authorization at all.
#pragma once

#include <string>

#include <peal/base/result.h>

namespace peal {

struct HttpProxies {
  // Each "[http://][name:password@]host[:port][/]", escapes (%40) in name and password decoded, port 80 unless it says
  // another; empty: none. HttpClient throws std::invalid_argument at any other text, with a sentence that does not
  // repeat it.
  std::string http = {};   // for http URLs
  std::string https = {};  // for https URLs
  // Hosts that are reached without, separated by commas or blanks: a name stands for itself and all below it, with a
  // dot in front or not; an address for itself, "10.0.0.0/8" and "fd00::/8" for networks of them; ":port" behind either
  // for that port alone; "*" for everything. No name is looked up for it.
  std::string direct = {};

  // What http_proxy, https_proxy and no_proxy say, all_proxy where one of the first two does not. In upper case they
  // count where the lower case is not set, but for HTTP_PROXY, which a CGI program's client can set (httpoxy, CVE-2016-
  // 5385). HttpTrouble::kBadProxy where one names no proxy, or one of another kind (socks5://, https://). Not on a
  // thread beside one that calls setenv().
  static Result<HttpProxies> from_environment();
};

}  // namespace peal
