// SPDX-License-Identifier: BSD-3-Clause
// UringEngine: the Engine as io_uring does it natively: accepts and receives are armed once and complete many times,
// what a turn sends leaves in one io_uring_enter with the wait, and closing waits for the last completion.
//
// A slot stays taken until nothing of it is in the kernel's hands, so a completion's tag needs only {kind, slot}. A
// stream that is closing answers to no id and reports nothing but its end. What has to be told without a completion of
// the kernel's (stashed bytes, a socket that could not be made) waits on the list of streams to attend to.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include <peal/base/slot_table.h>
#include <peal/engine/engine.h>
#include <peal/engine/parts/datagram_set.h>
#include <peal/engine/parts/event_waker.h>
#include <peal/engine/parts/file_queue.h>
#include <peal/engine/parts/uring_listeners.h>
#include <peal/engine/parts/uring_ring.h>

namespace peal::detail {

class UringEngine final : public Engine {
 public:
  UringEngine();
  // Shuts, if need be.
  ~UringEngine() override;

  std::string_view name() const override { return "io_uring"; }
  Result<void> open() override;
  void shut() override;

  Result<ListenerId> bind(const SocketAddress& address, const ListenOptions& options) override;
  Result<ListenerId> adopt_listener(Fd listening, const AdoptOptions& options) override;
  Result<SocketAddress> local_address(ListenerId id) const override;
  void accept(ListenerId id, AcceptEvents& events) override;
  void stop(ListenerId id) override;

  StreamId connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) override;
  StreamId adopt(LooseStream stream, StreamEvents& events) override;
  void detach(StreamId id) override;
  void receive(StreamId id, bool on) override;
  size_t send(StreamId id, Buffer&& bytes) override;
  size_t send_copy(StreamId id, std::string_view bytes) override;
  void report_sent(StreamId id) override;
  void send_file(StreamId id, FileRange range) override;
  bool forward(StreamId from, StreamId to) override;
  uint64_t forwarded_bytes(StreamId from) const override;
  size_t queued_bytes(StreamId id) const override;
  uint64_t unsent_bytes(StreamId id) const override;
  void shutdown_send(StreamId id) override;
  void close(StreamId id, CloseHow how) override;
  Result<SocketAddress> local_address(StreamId id) const override;
  Result<SocketAddress> peer_address(StreamId id) const override;
  Result<void> set_option(StreamId id, SocketOption option, int value) override;
  Result<TcpFacts> tcp_facts(StreamId id) const override;

  WatchId watch(int fd, bool readable, bool writable, WatchEvents& events) override;
  void unwatch(WatchId id) override;

  Result<DatagramId> open_datagrams(const SocketAddress& local, DatagramEvents& events) override;
  Result<SocketAddress> local_address(DatagramId id) const override;
  Result<void> send_datagram(DatagramId id, const SocketAddress& to, std::string_view bytes) override;
  void close_datagrams(DatagramId id) override;

  size_t wait(TimePoint deadline) override;
  void note_wakes(TimePoint& at) override { woke_at_ = &at; }
  TimePoint now() const override { return monotonic_now(); }
  std::shared_ptr<Waker> waker() override { return waker_; }
  const EngineStats& stats() const override { return stats_; }

 private:
  using Completion = UringRing::Completion;

  // What came while it could not be told.
  struct Aside {
    Buffer bytes;
    std::error_code connect_error;
    std::error_code end_error;
    bool ended = false;
  };
  struct Stream {
    uint32_t generation = 0;
    uint32_t slot = 0;
    StreamEvents* events = nullptr;
    Buffer out;  // its front is in the kernel's hands while `sending`
    std::unique_ptr<Aside> aside;
    std::unique_ptr<FileQueue> files;  // what is queued behind `out`; null when nothing is
    int fd = -1;
    uint32_t offered = 0;  // bytes of the send in flight
    // In the kernel's hands:
    bool connecting : 1 = false;
    bool armed : 1 = false;       // the receive
    bool cancelling : 1 = false;  // the receive, with a cancel on its way
    bool bulky : 1 = false;       // its messages are big: they want whole blocks
    bool sending : 1 = false;
    bool polled : 1 = false;  // for room to send: from the first time there was none, for good
    bool closing_fd : 1 = false;
    // What the owner asked for:
    bool wants_bytes : 1 = false;
    bool wants_sent : 1 = false;
    bool shutdown_asked : 1 = false;
    bool detach_asked : 1 = false;
    bool closed : 1 = false;  // the id is dead, the slot not yet free
    // How far it got:
    bool receive_over : 1 = false;  // the end was seen
    bool send_over : 1 = false;     // failed, or FIN is sent
    bool blocked : 1 = false;       // the kernel's send buffer is full: the poll will tell
    bool dirty : 1 = false;         // on the list of what has output to send
    bool attended : 1 = false;      // on the list to attend to

    bool has_output() const { return !out.empty() || files != nullptr; }
    bool held() const { return connecting || armed || sending || polled || closing_fd; }
  };
  struct Watch {
    uint32_t generation = 0;
    uint32_t slot = 0;
    WatchEvents* events = nullptr;
    int fd = -1;
    uint32_t asked = 0;  // poll(2)'s bits
    bool armed = false;
    bool leaving = false;
  };

  enum Kind : uint64_t { kReceive = 1, kSend, kRoom, kConnect, kClose, kAccept, kWatch, kWake };
  static constexpr uint64_t tag(Kind kind, uint32_t slot) { return (uint64_t{kind} << 32) | slot; }

  // uring_engine.cc: who exists, waits and leaves.
  Stream* find(StreamId id);
  const Stream* peek(StreamId id) const;
  StreamId add_stream(Fd fd, StreamEvents& events);
  void release(uint32_t slot, Stream& stream);
  void begin_close(uint32_t slot, Stream& stream);
  size_t turn(TimePoint deadline);
  void dispatch(const Completion& completion);
  void watch_ready(uint32_t slot, const Completion& completion);
  void arm_watch(uint32_t slot, Watch& watch, bool edges);
  void woken(int result);
  void close_everything();

  // uring_transfer.cc: how bytes move, and what follows.
  void connected(uint32_t slot, Stream& stream, int result);
  void received(uint32_t slot, Stream& stream, const Completion& completion);
  void receive_ended(Stream& stream, std::error_code error);
  void sent(uint32_t slot, Stream& stream, int result);
  void block(uint32_t slot, Stream& stream);
  void room_changed(uint32_t slot, Stream& stream, const Completion& completion);
  void after_output(uint32_t slot, Stream& stream, bool progress);
  void settle(uint32_t slot, Stream& stream);
  void tell_aside(Stream& stream);
  void finish_detach(uint32_t slot, Stream& stream);
  Aside& aside(Stream& stream);
  void attend(uint32_t slot, Stream& stream);
  size_t attend_all();
  void make_dirty(uint32_t slot, Stream& stream) {
    if (stream.dirty) return;
    stream.dirty = true;
    dirty_.push_back(slot);
  }
  size_t send_dirty();
  bool send_files(uint32_t slot, Stream& stream);
  void fail_output(Stream& stream, std::error_code error);
  template <class Bytes>
  size_t enqueue(StreamId id, Bytes&& bytes);
  void arm_receive(uint32_t slot, Stream& stream);
  void pause_receive(uint32_t slot, Stream& stream);

  static constexpr size_t kBatch = 64;
  static constexpr size_t kStashPieceBytes = 64 * 1024;  // of what came while paused, for a call up
  // From this size on a message is cut too often where shared blocks meet (20 KiB).
  static constexpr int kBulkyBytes = 8 * 1024;
  static constexpr size_t kMostPerTurn = 1024;  // completions; then timers and posted tasks get their turn

  const std::shared_ptr<EventWaker> waker_;
  EngineStats stats_;
  UringListeners listeners_;
  std::unique_ptr<UringRing> ring_;
  TimePoint* woke_at_ = nullptr;  // null: nobody asks
  bool shutting_ = false;
  bool wake_armed_ = false;
  SlotTable<Stream> streams_;
  SlotTable<Watch> watches_;
  std::vector<uint32_t> dirty_;
  std::vector<uint32_t> attended_;
  DatagramSet datagrams_;
};

}  // namespace peal::detail
