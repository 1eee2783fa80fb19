// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/client.h>

#include <cerrno>

#include <peal/loop/on_loop.h>
#include <peal/net/parts/connector.h>
#include <peal/net/resolver.h>

namespace peal {

using detail::ConnectionSet;
using detail::Connector;

Client::Client(Loop& loop, ConnectionCallbacks callbacks, const ClientOptions& options, ConnectFailed on_failed)
    : mailbox_(loop.mailbox()),
      connector_(std::make_shared<Connector>(
          std::make_shared<ConnectionSet>(loop, std::make_shared<ConnectionCallbacks>(std::move(callbacks)),
                                          options.connection),
          options, std::move(on_failed))) {}

Client::~Client() {
  // on_loop_and_wait() returns false if the loop has ended. In that case no other thread uses the connector, so its
  // connections are ended on this thread.
  if (!detail::on_loop_and_wait(*mailbox_, [&](Loop&) { connector_->retire(); })) connector_->set().retire();
}

Result<void> Client::connect(std::string_view address) {
  Result<SocketAddress> parsed = SocketAddress::parse(address);
  if (parsed) return connect(*parsed);
  const Result<HostPort> name = HostPort::parse(address);
  if (!name) return std::unexpected(parsed.error());
  return start({}, *name);
}

Result<void> Client::connect(const SocketAddress& address) { return start(address, {}); }

Result<void> Client::connect(const HostPort& place) {
  const Result<SocketAddress> literal = place.literal();
  if (!literal) return std::unexpected(literal.error());
  return literal->is_set() ? connect(*literal) : start({}, place);
}

Result<void> Client::start(const SocketAddress& address, const HostPort& name) {
  const uint64_t run = connector_->claim().take();
  if (run == 0) return fail(EALREADY);
  // start() is posted even if this thread could call it directly, because the engine of the loop is not open before the
  // loop runs.
  bool posted =
      mailbox_->insist([connector = connector_, address, name, run] { connector->start(address, name, run); });
  if (posted) return {};
  connector_->claim().end(run);
  return fail(Trouble::kLoopStopped);
}

void Client::stop() {
  connector_->claim().end();
  mailbox_->insist([connector = connector_] { connector->stop(); });
}

NetStats Client::stats() const {
  NetStats stats;
  detail::on_loop_or_after(*mailbox_, [&] { stats = connector_->set().stats_now(); });
  return stats;
}

}  // namespace peal
