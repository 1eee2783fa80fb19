// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/rpc/rpc_channel.h>

#include <memory>

#include <peal/protobuf/rpc/parts/rpc_link.h>

namespace peal {

RpcChannel::RpcChannel(Loop& loop, const RpcChannelOptions& options)
    : RpcCaller(std::make_shared<detail::RpcLink>(loop, options)) {
  link().begin();
}

RpcChannel::~RpcChannel() { link().retire(); }

Result<void> RpcChannel::connect(std::string_view address) { return link().connect(address); }

Result<void> RpcChannel::connect(const SocketAddress& address) { return link().connect(address); }

void RpcChannel::stop() { link().stop(); }

bool RpcChannel::is_connected() const { return link().is_connected(); }

RpcChannelStats RpcChannel::stats() const { return link().stats(); }

detail::RpcLink& RpcChannel::link() const { return static_cast<detail::RpcLink&>(calls()); }

}  // namespace peal
