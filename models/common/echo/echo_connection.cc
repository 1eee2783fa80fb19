// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/echo/echo_connection.h>

#include <utility>

#include <models/common/echo/take_frames.h>
#include <models/common/plain_sockets.h>

namespace peal::models {
namespace {

// The answer size at which on_readable() stops reading and sends the answer. This limit is used only if
// options.read_until_empty is set. Without the limit, a client that sends without a pause would keep all other clients
// waiting, and its buffer would grow forever.
constexpr size_t kAnswerAtOnceBytes = 64 * 1024;

}  // namespace

EchoConnection::EchoConnection(Fd socket, const ModelOptions& options, Tally& tally)
    : socket_(std::move(socket)), buffer_(options.max_body_bytes), options_(options), tally_(tally) {}

void EchoConnection::begin(Fd socket) {
  socket_ = std::move(socket);
  buffer_.clear();
  ending_ = unread_ = false;
}

Wants EchoConnection::on_readable() {
  do {
    const Moved got = read_some(fd(), buffer_);
    unread_ = got.did == CallOutcome::kDone;
    if (got.did == CallOutcome::kEnd) ending_ = true;
    if (got.did != CallOutcome::kDone) break;
    if (take_frames(buffer_, options_.work, tally_) == FrameState::kTooLong) ending_ = true;
  } while (options_.read_until_empty && !ending_ && buffer_.answer().size() < kAnswerAtOnceBytes);
  if (!buffer_.has_answer()) return ending_ ? Wants::kClose : Wants::kRead;
  return options_.write_order == WriteOrder::kFirst ? write() : Wants::kWrite;
}

// Calls send(2) once, and returns the next step of the caller:
// - kWrite: the socket has not accepted the whole answer. The caller waits until the socket is writable, and then sends
//   the rest.
// - kRead: the whole answer was sent.
// - kClose: the connection has failed, or the whole answer was sent and the connection is ending.
Wants EchoConnection::write() {
  if (write_some(fd(), buffer_).did == CallOutcome::kEnd) return Wants::kClose;
  if (buffer_.has_answer()) return Wants::kWrite;
  return ending_ ? Wants::kClose : Wants::kRead;
}

}  // namespace peal::models
