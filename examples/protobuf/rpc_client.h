// SPDX-License-Identifier: BSD-3-Clause
// Shared by the clients of remote procedures.
#pragma once

#include <examples/protobuf/run_task.h>

#include <peal/protobuf/rpc/rpc_channel.h>

namespace peal::examples {

// For a channel that connects once: its calls fail when it cannot, or when the connection is lost.
inline RpcChannelOptions one_attempt() {
  RpcChannelOptions options;
  options.client.retry = {};
  return options;
}

}  // namespace peal::examples
