// SPDX-License-Identifier: BSD-3-Clause
// io_uring_receive_each: asynchronous input and output, the last of the five classic I/O models: the kernel does the
// reading and writing, and says when it is done.
//
//   requests:     [accept] [receive from A] [send to B] ...  ──┐  one io_uring_enter(2) submits what is new and waits
//   completions:  [A: 68 bytes] [B: sent] [a client] ...     <─┘
//
//   a connection:  receive ─> done: frames ─> work ─> send ─> done: nothing left? ─> receive
//                                                       ^────────── some left ─┘
//
// Who accepts, reads and writes: the kernel, for each request that was put into the ring, once. Who computes: the one
// thread, when completions come. Work never changes hands but to the kernel and back. A request names its buffer when
// it is asked for, so every idle connection has a buffer that waits; that is what io_uring_multishot does otherwise. A
// wait brings the completions of many connections at once: the busier, the fewer system calls a request. One that
// computes or sleeps holds up every other connection. There must be an io_uring: Linux 6.1, and nobody who forbids it.
#include <models/common/completion_ring.h>
#include <models/common/echo/take_frames.h>
#include <models/common/plain_sockets.h>
#include <models/common/uring_clients.h>
#include <models/models.h>

namespace peal::models {
namespace {

// One operation of it is with the kernel, always; when it comes back the next is asked for, or the connection ends.
struct ReceivingClient : UringClient {
  ReceivingClient(Fd its_socket, size_t max_body_bytes) : UringClient(std::move(its_socket)), buffer(max_body_bytes) {}

  EchoBytes buffer;
  bool last_answer = false;  // it sent what cannot be answered
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
