// SPDX-License-Identifier: BSD-3-Clause
// A function that the example clients of remote procedures share.
#pragma once

#include <examples/protobuf/run_task.h>

#include <peal/protobuf/rpc/rpc_channel.h>

namespace peal::examples {

// Returns options for a channel that tries to connect only once. If the channel cannot connect or loses its connection,
// its calls fail.
inline RpcChannelOptions one_attempt() {
  RpcChannelOptions options;
  options.client.retry = {};
  return options;
}

}  // namespace peal::examples
