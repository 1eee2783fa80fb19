// SPDX-License-Identifier: BSD-3-Clause
// Decides which requests may read the pages and which may act. These are pure functions of what a request says about
// itself and where it comes from.
//
// Three kinds of strangers can reach a page that listens on loopback only:
//   - Another user of the machine.
//   - Any web site, through the browser of a user of the machine. A site may point a name of its own at 127.0.0.1 (DNS
//     rebinding), so the Host must be an IP address, localhost or a configured name. A site may also make a form send a
//     request here. So an action needs a field that no form can set, and no Origin except the page's own.
//   - The clients of a proxy on this machine, which may be anywhere. So a forwarded request is never treated as local.
//
// Over TLS, a client whose certificate was verified may act without the token and from anywhere: a certificate
// identifies the client at least as well. A browser sends its certificate whatever site caused the request, so the
// rules against web sites apply all the same. A proxy sends its own certificate, which does not identify its clients.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <peal/base/socket_address.h>

namespace peal::detail {

struct InspectorRules {
  std::string token;               // empty if none is set
  std::vector<std::string> hosts;  // host names by which clients reach the inspector, without a port
};

struct AskedBy {
  SocketAddress peer;
  std::string_view host;                  // the host that the request is for, with its port
  std::vector<std::string_view> origins;  // the values of the fields Origin; a browser sends one or none
  std::string_view authorization;         // the field Authorization; empty if the request has none
  std::string_view action;                // the field Peal-Action; empty if the request has none
  bool forwarded = false;                 // true if a proxy passed the request on, so that the peer is the proxy
  bool secure = false;                    // true if the connection is over a layer such as TLS
  bool certified = false;                 // true if the peer gave a certificate over the layer and it was verified
};

// The response to a request that is refused. Status 0 means that the request is allowed.
struct Refusal {
  int status = 0;
  std::string_view why;
};

// Decides whether a request may read the pages: its host must be an IP address, localhost or one of rules.hosts.
Refusal may_look(const AskedBy& asked, const InspectorRules& rules);

// Decides whether a request may act. The request must be allowed to read, must have the field Peal-Action, and must not
// come from another site. In addition, one of these must hold:
//   - the peer is certified and no proxy has forwarded the request;
//   - a token is set, and the request has that token;
//   - no token is set, the request comes from this machine, and no proxy has forwarded the request.
Refusal may_act(const AskedBy& asked, const InspectorRules& rules);

}  // namespace peal::detail
