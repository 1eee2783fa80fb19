// SPDX-License-Identifier: BSD-3-Clause
// io_uring_multishot: asynchronous input and output, in which one operation completes many times.
//
//   requests, once:  [accept, multishot]                     ──> [client] [client] [client] ...
//   one each:        [receive from A, multishot, any buffer] ──> [A: 68 bytes, in buffer 7] [A: 68, in 8] ...
//   provided beforehand, shared by all:  buffers 0 1 2 ... 511: lent ─> filled ─> answered from ─> given back
//
// The kernel accepts, reads and writes. It holds one accept operation for the listener, and one receive operation for
// each connection. The kernel takes a buffer from the ring of provided buffers only when bytes have arrived, so an idle
// connection has no buffer. When completions arrive, one thread computes. Each answer costs one request: a send, which
// sends the bytes of the client's request directly from the provided buffer.
//
// This has three disadvantages:
// - Bytes arrive even while an answer is unsent. They are copied and kept for later. If there are too many of them, the
//   receive is cancelled until the answer is sent.
// - When all buffers are filled, a receive ends and has to be requested again.
// - A request that computes or sleeps delays every other connection.
//
// The model needs io_uring: Linux 6.1, and no setting that forbids it.
#include <algorithm>
#include <string_view>
#include <vector>

#include <models/common/completion_ring.h>
#include <models/common/echo/take_frames.h>
#include <models/common/uring_clients.h>
#include <models/common/work.h>
#include <models/models.h>
#include <peal/wire/framing/length_framing.h>

namespace peal::models {
namespace {

// The limit for the bytes in MultishotClient::aside. While the server sends an answer to a client, the server stores
// the bytes that arrive from this client in `aside`. If `aside` has more than kAsideBytes, the server cancels the
// receive operation. Otherwise a client that sends without reading its answers could fill the memory of the server.
// Bytes that the kernel has received before the cancellation still arrive, so `aside` may become larger than the limit.
constexpr size_t kAsideBytes = 64 * 1024;

struct MultishotClient : UringClient {
  MultishotClient(Fd its_socket, size_t max_body_bytes) : UringClient(std::move(its_socket)), buffer(max_body_bytes) {}

  bool in_the_middle() const { return sending || buffer.in_frame(); }

  EchoBytes buffer;              // frames that arrived in parts, and answers that were sent only in part
  std::span<std::byte> held;     // the provided buffer that is being sent; empty if `buffer` is being sent
  std::vector<std::byte> aside;  // bytes that arrived while an answer was being sent; parsed afterwards
  bool sending = false;
  bool receiving = false;
  bool cancelling = false;  // true: the cancellation of the receive was requested
  bool ended = false;       // true: receives nothing more, and drops bytes that still arrive
};

class MultishotServer final : public UringClients<MultishotClient> {
 public:
  MultishotServer(ModelRun& run, CompletionRing& ring) : UringClients(run, ring, Times::kUntilItFails) {}

 private:
  using Completion = CompletionRing::Completion;

  void begin(MultishotClient& client) override { receive(client); }

  void completed(MultishotClient& client, UringKind kind, const Completion& completion) override {
    if (kind == UringKind::kReceive) {
      received(client, completion);
    } else {
      sent(client, completion.result);
    }
    client.under_way = static_cast<unsigned>(client.sending) + static_cast<unsigned>(client.receiving);
    if (client.closing || (client.ended && !client.sending)) return close(client);
    if (!client.receiving && !client.ended && client.aside.empty()) receive(client);
    follow_slow_timeout(client, client.in_the_middle());
  }

  void receive(MultishotClient& client) {
    ring().receive_into_provided(client.socket.get(), client.tag(UringKind::kReceive));
    client.receiving = true;
    client.cancelling = false;
    client.under_way = static_cast<unsigned>(client.sending) + 1;
  }

  void received(MultishotClient& client, const Completion& completion) {
    client.receiving = completion.more();
    if (completion.result > 0) return take_bytes(client, ring().bytes(completion));
    // These two errors do not end the connection: the receive was cancelled (ECANCELED), or no provided buffer was free
    // (ENOBUFS). The server requests another receive as soon as `aside` is empty. While `aside` still holds an answer,
    // further bytes would only make `aside` larger.
    if (completion.result == -ECANCELED || completion.result == -ENOBUFS) return;
    client.ended = true;
  }

  void take_bytes(MultishotClient& client, std::span<std::byte> bytes) {
    if (client.closing || client.ended) return ring().give_back(bytes);
    if (client.sending) {
      client.aside.insert(client.aside.end(), bytes.begin(), bytes.end());
      ring().give_back(bytes);
      if (client.aside.size() <= kAsideBytes || !client.receiving || client.cancelling) return;
      ring().cancel(client.tag(UringKind::kReceive));
      client.cancelling = true;
      return;
    }
    if (client.buffer.in_frame()) {
      append(client.buffer, bytes);
      ring().give_back(bytes);
      return answer(client);
    }
    answer_in_place(client, bytes);
  }

  // Handles received bytes. `bytes` is a provided buffer, which the kernel has filled:
  // - If `bytes` begins with complete frames, sends these frames back directly from this buffer. The incomplete frame
  //   after them is copied to `aside`.
  // - If `bytes` begins with an incomplete frame, copies all bytes to the connection's own buffer.
  void answer_in_place(MultishotClient& client, std::span<std::byte> bytes) {
    const LengthFraming framing{.limit_bytes = options().max_body_bytes};
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    FramePeek next = framing.peek(rest);
    for (; next.state == FrameState::kWhole; next = framing.peek(rest)) {
      do_work(options().work);
      ++tally().requests;
      rest.remove_prefix(next.frame_bytes());
    }
    const size_t whole = bytes.size() - rest.size();
    if (next.state == FrameState::kTooLong) {
      ++tally().too_large;
      receive_no_more(client);
    }
    if (whole == 0) {
      if (!client.ended) append(client.buffer, bytes);
      return ring().give_back(bytes);
    }
    if (!client.ended) client.aside.assign(bytes.begin() + static_cast<ptrdiff_t>(whole), bytes.end());
    client.held = bytes.first(whole);
    client.sending = true;
    ring().send(client.socket.get(), client.held, CompletionRing::Waits::kNo, client.tag(UringKind::kSend));
  }

  // Answers the complete frames in the connection's own buffer. If the frame after them is too long, the server
  // receives nothing more from the client.
  void answer(MultishotClient& client) {
    if (take_frames(client.buffer, options().work, tally()) == FrameState::kTooLong) receive_no_more(client);
    if (client.buffer.has_answer()) send(client);
  }

  void send(MultishotClient& client) {
    client.sending = true;
    ring().send(client.socket.get(), client.buffer.answer(), CompletionRing::Waits::kYes, client.tag(UringKind::kSend));
  }

  void sent(MultishotClient& client, int result) {
    client.sending = false;
    if (!client.held.empty()) {
      let_go_of_held(client, result);
    } else if (result > 0) {
      client.buffer.sent(static_cast<size_t>(result));
    }
    if (result <= 0 && result != -EAGAIN) {
      client.ended = true;
      return;
    }
    if (client.closing) return;
    if (client.buffer.has_answer()) return send(client);
    if (client.aside.empty()) return;
    append(client.buffer, client.aside);
    client.aside.clear();
    if (client.buffer.in_frame()) answer(client);
  }

  // Called when a send from a provided buffer has completed. If the socket took only a part of the bytes, copies the
  // rest to the connection's own buffer. Then gives the provided buffer back to the kernel, because all connections
  // share the provided buffers.
  void let_go_of_held(MultishotClient& client, int result) {
    const std::span<std::byte> held = std::exchange(client.held, {});
    const size_t left = static_cast<size_t>(std::max(result, 0));
    if (left < held.size() && (result > 0 || result == -EAGAIN)) {
      append(client.buffer, held);
      while (client.buffer.take() == FrameState::kWhole) {
      }
      client.buffer.sent(left);
    }
    ring().give_back(held);
  }

  static void receive_no_more(MultishotClient& client) {
    client.ended = true;
    client.aside.clear();
  }

  static void append(EchoBytes& buffer, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::span<std::byte> room = buffer.room();
      const size_t fits = std::min(room.size(), bytes.size());
      std::copy_n(bytes.begin(), fits, room.begin());
      buffer.filled(fits);
      bytes = bytes.subspan(fits);
    }
  }
};

}  // namespace

Result<void> io_uring_multishot(ModelRun& run) {
  Result<std::unique_ptr<CompletionRing>> ring = CompletionRing::make();
  if (!ring) return std::unexpected(ring.error());
  if (Result<void> done = (*ring)->provide_buffers(); !done) return done;
  return MultishotServer(run, **ring).serve();
}

}  // namespace peal::models
