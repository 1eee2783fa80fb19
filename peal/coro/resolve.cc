// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/resolve.h>

namespace peal {

bool Resolve::start() {
  const Result<ResolveId> id = resolver_.resolve(host_, port_, options_, [this](Result<Resolver::Addresses> addresses) {
    if (addresses) addresses_ = std::move(*addresses);
    complete(addresses ? 0 : detail::why_of(addresses.error()));
  });
  if (!id) return refuse(detail::why_of(id.error()));
  id_ = *id;
  return true;
}

Result<Resolver::Addresses> Resolve::await_resume() {
  if (why_ != 0) return detail::failed(why_);
  return std::move(addresses_);
}

void Resolve::cancel(detail::Why why) noexcept {
  resolver_.cancel(id_);
  complete(why);
}

}  // namespace peal
