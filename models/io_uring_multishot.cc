// SPDX-License-Identifier: BSD-3-Clause
// io_uring_multishot: asynchronous input and output where one request is answered many times.
//
//   requests, once:  [accept, multishot]                     ──> [client] [client] [client] ...
//   one each:        [receive from A, multishot, any buffer] ──> [A: 68 bytes, in buffer 7] [A: 68, in 8] ...
//   provided beforehand, shared by all:  buffers 0 1 2 ... 511: lent ─> filled ─> answered from ─> given back
//
// Who accepts, reads and writes: the kernel, which keeps the accept and each connection's receive, and takes a buffer
// from the ring of provided ones only when bytes have come: who is idle holds none. Who computes: the one thread, when
// completions come. Work never changes hands but to the kernel and back. A request costs one entry in the ring, the
// send of its answer, and that is sent from where the request lies, in the provided buffer.
// What it takes for that: nobody says when bytes come, so they come while an answer is still unsent. They are put
// aside, and when too many are, the receive is cancelled until the answer has left; and when all buffers are filled, a
// receive ends and has to be asked for again. A request that computes or sleeps holds up every other connection.
// There must be an io_uring: Linux 6.1, and nobody who forbids it.
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

// More than so much is not put aside, but for what is on its way.
constexpr size_t kAsideBytes = 64 * 1024;

struct MultishotClient : UringClient {
  MultishotClient(Fd its_socket, size_t max_body_bytes) : UringClient(std::move(its_socket)), buffer(max_body_bytes) {}

  bool in_the_middle() const { return sending || buffer.in_frame(); }

  EchoBytes buffer;              // what did not come and leave as whole frames in a provided buffer
  std::span<std::byte> held;     // a provided buffer that the send under way is of; else it is of `buffer`
  std::vector<std::byte> aside;  // came while a send was under way
  bool sending = false;
  bool receiving = false;
  bool cancelling = false;  // the receive
  bool ended = false;       // no more will be received, or looked at
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
    // Cancelled, or there was no buffer: it is asked for again.
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

  // The frames that are whole leave from the provided buffer; what follows them is the beginning of another.
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

  // The frames that are whole in the connection's own buffer.
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

  // What its client did not take at once waits in the connection's own buffer: a provided one is everybody's.
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
