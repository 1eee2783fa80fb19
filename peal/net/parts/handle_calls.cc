// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/memory/memory_budget.h>
#include <peal/net/connection.h>
#include <peal/net/parts/connection_set.h>

namespace peal {

using detail::ForcedEnd;

// Calls `action` with the connection: at once if called on the connection's loop, otherwise in a task that is posted
// there. Returns false if the connection has ended or the task was refused.
template <class Act>
bool ConnectionHandle::act(Act&& action) const {
  if (set_ == nullptr) return false;
  if (is_here()) {
    Connection* connection = set_->find(slot_, generation_);
    if (connection != nullptr) action(*connection);
    return connection != nullptr;
  }
  return set_->mailbox().post(
      [set = set_, slot = slot_, generation = generation_, action = std::forward<Act>(action)]() mutable {
        if (Connection* connection = set->find(slot, generation)) action(*connection);
      });
}

template <class Act>
bool ConnectionHandle::act_or_end(Act&& action) const {
  if (counted(act(std::forward<Act>(action)))) return true;
  force_end(ForcedEnd::kSendRefused);
  return false;
}

// Returns true if a send must be refused, because it comes from another thread while the process is above its hard
// memory mark. In that case, also ends the connection with kSendRefused. Without this check, sends to a loop that does
// not run could fill the memory.
bool ConnectionHandle::ends_over_budget() const {
  if (set_ == nullptr || is_here() || !MemoryBudget::above_hard()) return false;
  set_->count_lost();
  force_end(ForcedEnd::kSendRefused);
  return true;
}

// Counts a call from another thread if it was refused, and returns `taken`. A call on the loop itself needs no count
// here, because find() has counted it as late.
bool ConnectionHandle::counted(bool taken) const {
  if (!taken && set_ != nullptr && !is_here()) set_->count_lost();
  return taken;
}

bool ConnectionHandle::force_end(ForcedEnd what) const {
  return set_ != nullptr && !is_here() && set_->force_end(slot_, generation_, what);
}

bool ConnectionHandle::is_here() const { return set_ != nullptr && set_->mailbox().here() != nullptr; }

bool ConnectionHandle::send(std::string_view bytes) const { return send(Buffer(bytes)); }
bool ConnectionHandle::send(Buffer&& bytes) const {
  if (ends_over_budget()) return false;
  return act_or_end([bytes = std::move(bytes)](Connection& connection) mutable { connection.send(std::move(bytes)); });
}
bool ConnectionHandle::send(const SharedBytes& bytes) const {
  if (ends_over_budget()) return false;
  return act_or_end([bytes](Connection& connection) { connection.send(bytes); });
}
bool ConnectionHandle::send_file(const FileRange& range) const {
  return act_or_end([range](Connection& connection) { connection.send_file(range); });
}
bool ConnectionHandle::close() const {
  return counted(act([](Connection& connection) { connection.close(); }) || force_end(ForcedEnd::kClose));
}
bool ConnectionHandle::abort() const {
  return counted(act([](Connection& connection) { connection.abort(); }) || force_end(ForcedEnd::kAbort));
}
bool ConnectionHandle::run(Callback<void(Connection&)> task) const {
  return counted(
      act([set = set_.get(), task = std::move(task)](Connection& connection) mutable { set->run(task, connection); }));
}
bool ConnectionHandle::run_or_end(Callback<void(Connection&)> task) const {
  return act_or_end(
      [set = set_.get(), task = std::move(task)](Connection& connection) mutable { set->run(task, connection); });
}

}  // namespace peal
