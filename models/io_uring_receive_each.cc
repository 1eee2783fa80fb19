// SPDX-License-Identifier: BSD-3-Clause
// io_uring_receive_each: asynchronous input and output, the last of the five classic I/O models. The kernel reads and
// writes, and reports when it is done.
//
//   requests:     [accept] [receive from A] [send to B] ...  ──┐  one io_uring_enter(2) submits what is new and waits
//   completions:  [A: 68 bytes] [B: sent] [a client] ...     <─┘
//
//   a connection:  receive ─> done: frames ─> work ─> send ─> done: nothing left? ─> receive
//                                                       ^────────── some left ─┘
//
// The kernel accepts, reads and writes, once for each operation that was put into the ring. One thread computes when
// completions arrive. A receive names its buffer in advance, so every idle connection occupies a buffer. The model
// io_uring_multishot avoids that. One wait returns the completions of many connections, so under load a request costs
// fewer system calls. A request that computes or sleeps delays every other connection.
//
// The model needs io_uring: Linux 6.1, and no setting that forbids it.
#include <models/common/completion_ring.h>
#include <models/common/echo/take_frames.h>
#include <models/common/plain_sockets.h>
#include <models/common/uring_clients.h>
#include <models/models.h>

namespace peal::models {
namespace {

// A connection. The server requests one operation of the connection at a time, a receive or a send. When the operation
// completes, the server requests the next operation or closes the connection. So the kernel never holds two operations
// of a connection.
struct ReceivingClient : UringClient {
  ReceivingClient(Fd its_socket, size_t max_body_bytes) : UringClient(std::move(its_socket)), buffer(max_body_bytes) {}

  EchoBytes buffer;
  bool last_answer = false;  // true: a frame was too large, so this answer is the last
};

class ReceiveEachServer final : public UringClients<ReceivingClient> {
 public:
  ReceiveEachServer(ModelRun& run, CompletionRing& ring) : UringClients(run, ring, Times::kOnce) {}

 private:
  void begin(ReceivingClient& client) override { receive(client); }

  void completed(ReceivingClient& client, UringKind kind, const CompletionRing::Completion& completion) override {
    client.under_way = 0;
    if (completion.result <= 0 || client.closing) return close(client);
    const auto bytes = static_cast<size_t>(completion.result);
    if (kind == UringKind::kReceive) {
      client.buffer.filled(bytes);
      client.last_answer = take_frames(client.buffer, options().work, tally()) == FrameState::kTooLong;
    } else {
      client.buffer.sent(bytes);
    }
    if (client.buffer.has_answer()) {
      ring().send(client.socket.get(), client.buffer.answer(), CompletionRing::Waits::kYes,
                  client.tag(UringKind::kSend));
      client.under_way = 1;
    } else if (client.last_answer) {
      return close(client);
    } else {
      receive(client);
    }
    follow_slow_timeout(client, client.buffer.has_answer() || client.buffer.in_frame());
  }

  void receive(ReceivingClient& client) {
    ring().receive(client.socket.get(), client.buffer.room(), client.tag(UringKind::kReceive));
    client.under_way = 1;
  }
};

}  // namespace

Result<void> io_uring_receive_each(ModelRun& run) {
  Result<std::unique_ptr<CompletionRing>> ring = CompletionRing::make();
  if (!ring) return std::unexpected(ring.error());
  return ReceiveEachServer(run, **ring).serve();
}

}  // namespace peal::models
