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

// A ConnectionHandle is small, copyable and comparable. All its functions may be called on any thread, also after the
// connection has ended. A call on the connection's own loop acts at once. A call from any other thread is posted to the
// loop; the calls of one thread keep their order.
//
// Each function returns true if the call was accepted. An accepted call has no effect if the connection ends before the
// call arrives. A function returns false in these cases:
// - the connection or its loop is known to have ended,
// - the loop's mailbox is full (LoopOptions::post_limit),
// - a send comes from another thread while the process is above its hard mark (memory_budget.h).
//
// No bytes are ever missing in the middle of a stream. If the loop refuses a send, the connection is reset with
// kSendRefused before any later send takes effect. A thread that may send faster than the peer reads should use a
// BoundedSender.
class ConnectionHandle {
 public:
  ConnectionHandle() = default;
  // True if the handle names a connection, even if that connection has ended since.
  explicit operator bool() const { return set_ != nullptr; }
  bool operator==(const ConnectionHandle&) const = default;

  // send() and send_file() do the same as Connection's functions of these names, except for the result: true means that
  // the call was accepted. If such a call is refused while the
  // connection is open, the connection ends with kSendRefused.
  bool send(std::string_view bytes) const;
  bool send(Buffer&& bytes) const;
  bool send(const SharedBytes& bytes) const;
  bool send_file(const FileRange& range) const;
  // close() and abort() end the connection as Connection's functions of these names do. They are accepted even if the
  // loop's mailbox is full, and return false only if the connection or its loop has ended.
  bool close() const;
  bool abort() const;
  // Calls `task` with the connection, on the connection's loop. If the connection ends before the call, `task` is
  // destroyed without being called.
  bool run(Callback<void(Connection&)> task) const;
  // Does the same as run(), but ends the connection with kSendRefused if the task is refused. Use run_or_end() if the
  // peer would get a wrong stream without the effect of `task`.
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
