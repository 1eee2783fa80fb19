// SPDX-License-Identifier: BSD-3-Clause
// HttpProxies: says which requests of an HttpClient go through a proxy. A value; any thread.
//
//   options.proxies = {.http = "http://proxy.example:3128", .https = "http://proxy.example:3128"};
//   options.proxies = peal::HttpProxies::from_environment().value();   // reads http_proxy and so on
//
// A request for an http URL is sent to the proxy, with the whole URL as its target (RFC 9112 3.2.2). A request for an
// https URL, or one with HttpClientRequest::may_upgrade, is sent through a tunnel that the proxy opens on CONNECT (RFC
// 9110 9.3.6). The proxy then sees only the host and the port; the TLS handshake inside the tunnel is with the server.
// A request with connect_to uses no proxy. The client speaks plain HTTP/1.1 to the proxy.
//
// Name and password are sent to the proxy only ("Basic", RFC 7617), with CONNECT and with requests for http URLs. A
// Proxy-Authorization field of such a request replaces them. Through a tunnel no Proxy-Authorization field is sent.
#pragma once

#include <string>

#include <peal/base/result.h>

namespace peal {

struct HttpProxies {
  // The proxies, each as "[http://][name:password@]host[:port][/]"; empty means no proxy. Escapes such as %40 in name
  // and password are decoded; the default port is 80. If a text does not have this form, the constructor of HttpClient
  // throws std::invalid_argument. The exception does not quote the text, since that may have a password.
  std::string http = {};   // for http URLs
  std::string https = {};  // for https URLs

  // Hosts that are reached without a proxy, separated by commas or blanks. An entry is one of these:
  // - a name, with or without a dot in front: the host of that name and all hosts below it;
  // - an address, or a network such as "10.0.0.0/8" or "fd00::/8";
  // - a name or an address with ":port" after it: that host, but only at that port;
  // - "*": every host.
  // Entries are compared with the URL's host as text; no name is looked up. A malformed entry matches no host.
  std::string direct = {};

  // Reads the environment variables http_proxy, https_proxy and no_proxy. If one of the first two is not set, all_proxy
  // is used for it. If a variable is not set, the one with the same name in upper case is used, except HTTP_PROXY. The
  // client of a CGI program can set HTTP_PROXY (httpoxy, CVE-2016-5385). An empty variable counts as not set.
  //
  // Fails with HttpTrouble::kBadProxy if a variable is not the address of an HTTP proxy, for example with socks5:// or
  // https://. Must not be called while another thread calls setenv().
  static Result<HttpProxies> from_environment();
};

}  // namespace peal
