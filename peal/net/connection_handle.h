// SPDX-License-Identifier: BSD-3-Clause
// ConnectionHandle: what a user keeps of a Connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <peal/base/callback.h>
#include <peal/base/memory/buffer.h>
#include <peal/engine/stream_port.h>

namespace peal {

class Connection;
namespace detail {
class ConnectionSet;
enum class ForcedEnd : uint8_t;
}  // namespace detail

// Small, copyable, comparable; any thread, at any time, however late. On the connection's loop a call acts at once;
// from elsewhere it travels there, in the order of the calls of one thread. The answer is whether it was taken: false
// when the connection is known to be gone, its loop has ended or refuses (LoopOptions::post_limit), or, for a send from
// elsewhere, the process is above its hard mark (memory_budget.h); what was taken may still come too late. A stream
// never lacks a middle: a send that the loop refuses ends the connection, by RST and with kSendRefused, before anything
// sent later. A thread that sends much at its own speed does it by a BoundedSender.
class ConnectionHandle {
 public:
  ConnectionHandle() = default;
  explicit operator bool() const { return set_ != nullptr; }
  bool operator==(const ConnectionHandle&) const = default;

  bool send(std::string_view bytes) const;
  bool send(Buffer&& bytes) const;
  bool send(const SharedBytes& bytes) const;
  bool send_file(const FileRange& range) const;
  // Taken, whatever waits there already, unless the connection or its loop is gone.
  bool close() const;
  bool abort() const;
  // Calls `task` with the connection on its loop, if it has not ended by then.
  bool run(Callback<void(Connection&)> task) const;
  // The same for what the peer must not miss: refused, the connection ends as with a send.
  bool run_or_end(Callback<void(Connection&)> task) const;

 private:
  friend class BoundedSender;
  friend class Connection;
  ConnectionHandle(std::shared_ptr<detail::ConnectionSet> set, uint32_t slot, uint32_t generation)
      : set_(std::move(set)), slot_(slot), generation_(generation) {}
  bool is_here() const;
  template <class Act>
  bool act(Act&& action) const;
  template <class Act>
  bool act_or_end(Act&& action) const;
  bool ends_over_budget() const;
  bool counted(bool taken) const;
  bool force_end(detail::ForcedEnd what) const;

  std::shared_ptr<detail::ConnectionSet> set_;
  uint32_t slot_ = 0;
  uint32_t generation_ = 0;
};

}  // namespace peal
