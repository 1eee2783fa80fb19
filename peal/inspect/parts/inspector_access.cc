// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/inspector_access.h>

#include <algorithm>

#include <peal/base/ascii.h>
#include <peal/http/middleware/authentication.h>
#include <peal/http/middleware/local_client.h>

namespace peal::detail {
namespace {

bool same_name(std::string_view one, std::string_view other) { return to_lower(one) == to_lower(other); }

// Returns the host without its port: "[::1]:80" becomes "[::1]", "localhost:80" becomes "localhost".
std::string_view without_port(std::string_view host) {
  const size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  return host.substr(0, host.find(':', bracket == host.npos ? 0 : bracket));
}

bool is_ours(std::string_view host, const InspectorRules& rules) {
  const std::string_view name = without_port(host);
  if (same_name(name, "localhost")) return true;
  if (std::ranges::any_of(rules.hosts, [name](const std::string& known) { return same_name(name, known); }))
    return true;
  const Result<SocketAddress> address = SocketAddress::parse(std::string(name) + ":0");
  return address && address->is_ip();
}

}  // namespace

Refusal may_look(const AskedBy& asked, const InspectorRules& rules) {
  if (is_ours(asked.host, rules)) return {};
  return {421, "the Host of this request must be an IP address, localhost, or a name that the inspector was given\n"};
}

Refusal may_act(const AskedBy& asked, const InspectorRules& rules) {
  if (const Refusal refusal = may_look(asked, rules); refusal.status != 0) return refusal;
  if (asked.action.empty()) return {403, "an action needs the header field Peal-Action\n"};
  for (const std::string_view origin : asked.origins) {
    const size_t scheme = origin.find("://");
    if (scheme == origin.npos || !same_name(origin.substr(scheme + 3), asked.host)) {
      return {403, "the Origin says that this request comes from another site\n"};
    }
    // An attacker between browser and server can forge pages of this host at http. So over TLS, only an Origin with
    // https is accepted.
    if (asked.secure && origin.substr(0, scheme) != "https") {
      return {403, "the Origin of a request over TLS must be https\n"};
    }
  }
  if (asked.certified && !asked.forwarded) return {};
  if (rules.token.empty()) {
    if (asked.forwarded) return {403, "without a token, nobody may act through a proxy\n"};
    if (is_local(asked.peer)) return {};
    return {403, "without a token, only this machine may act\n"};
  }
  constexpr std::string_view kScheme = "Bearer ";
  if (asked.authorization.size() > kScheme.size() &&
      same_name(asked.authorization.substr(0, kScheme.size()), kScheme) &&
      same_secret(asked.authorization.substr(kScheme.size()), rules.token)) {
    return {};
  }
  return {401, "an action needs the token: Authorization: Bearer TOKEN\n"};
}

}  // namespace peal::detail
