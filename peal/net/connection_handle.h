// SPDX-License-Identifier: BSD-3-Clause
// ConnectionHandle: a safe reference to a Connection, which the user's code may keep for any time and use on any
// thread.
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

// Small, copyable and comparable. All functions may be called on any thread, also after the connection has ended. On
// the connection's own loop a call acts at once. From any other thread it is posted to the loop; the calls of one
// thread keep their order.
//
// Each function returns true if the call was accepted. An accepted call may still arrive after the connection has
// ended. It returns false in these cases:
// - the connection is known to have ended, or its loop has;
// - the loop's mailbox is full (LoopOptions::post_limit);
// - for a send from another thread: the process is above its hard mark (memory_budget.h).
//
// No bytes are ever missing in the middle of a stream. If the loop refuses a send, the connection is reset with
// kSendRefused before anything sent later. A thread that sends much at its own speed should use a BoundedSender.
class ConnectionHandle {
 public:
  ConnectionHandle() = default;
  // True if the handle names a connection, which may have ended since.
  explicit operator bool() const { return set_ != nullptr; }
  bool operator==(const ConnectionHandle&) const = default;

  // Send as Connection's functions of the same names do. If such a call is refused, the connection ends with
  // kSendRefused.
  bool send(std::string_view bytes) const;
  bool send(Buffer&& bytes) const;
  bool send(const SharedBytes& bytes) const;
  bool send_file(const FileRange& range) const;
  // Ends the connection as Connection::close() or abort() does. Accepted even if the loop's mailbox is full; false only
  // if the connection or its loop has ended.
  bool close() const;
  bool abort() const;
  // Calls `task` with the connection on its loop. If the connection has ended before that, `task` is destroyed
  // uncalled.
  bool run(Callback<void(Connection&)> task) const;
  // Calls `task` as run() does, for a task whose effect the peer must not miss: if it is refused, the connection ends
  // with kSendRefused.
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
