// SPDX-License-Identifier: BSD-3-Clause
// Who may look, and who may act. Pure functions of what a request says of itself and where it comes from.
//
// Two strangers can reach a page that listens on loopback: another user of the machine, and, through the browser of
// somebody on it, any web site. A site may point a name of its own at 127.0.0.1 (DNS rebinding): so the Host must be an
// address, localhost or a name that was configured. A site may have a form sent here: so an action needs a field that
// no form can set, and no Origin but our own. A third one comes through a proxy on this machine, and is as far away as
// the proxy's clients are.
//
// Over TLS a client whose certificate was verified may act as one that has the token, from anywhere: a certificate says
// at least as well who asks. A browser shows it for any site, too, so the rules against those hold all the same; and a
// proxy's is its own, and says nothing of who asks through it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <peal/base/socket_address.h>

namespace peal::detail {

struct InspectorRules {
  std::string token;               // empty: none is set
  std::vector<std::string> hosts;  // names by which the inspector is known, without a port
};

struct AskedBy {
  SocketAddress peer;
  std::string_view host;    // what the request is for, with its port
  std::string_view origin;  // the field's value, as the next two; empty: there was none
  std::string_view authorization;
  std::string_view action;  // Peal-Action
  bool forwarded = false;   // a proxy passed it on: the peer is not who asks
  bool secure = false;      // over a layer
  bool certified = false;   // there the peer gave a certificate, and it was verified
};

// What to answer instead; status 0: nothing, it is allowed.
struct Refusal {
  int status = 0;
  std::string_view why;
};

Refusal may_look(const AskedBy& asked, const InspectorRules& rules);
// May look, comes from no other site, and is certified, or has the token, or, where none is set, comes from this
// machine; but for the token, through no proxy that says it is one.
Refusal may_act(const AskedBy& asked, const InspectorRules& rules);

}  // namespace peal::detail
