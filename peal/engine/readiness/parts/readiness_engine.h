// SPDX-License-Identifier: BSD-3-Clause
// ReadinessEngine: the Engine over a Poller. It emulates completions: try the system call first, wait for readiness
// only when it would block.
//
// On an edge-triggered poller a stream is registered once, for reading; a first short write adds writability, for good.
// On a level poller interest follows what is wanted. Every stream has a byte budget a turn; one that has used it up
// waits on the ready list, behind the others, for the next turn.
//
// Keys given to the poller are {generation, address or slot, kind}, so that an event of a closed generation finds
// nothing and a live stream is found without a search: an echo is a few hundred instructions, and every one of them
// shows.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include <peal/base/slot_table.h>
#include <peal/engine/engine.h>
#include <peal/engine/event_waker.h>
#include <peal/engine/parts/socket_setup.h>
#include <peal/engine/readiness/parts/file_queue.h>
#include <peal/engine/readiness/parts/listener_set.h>
#include <peal/engine/readiness/parts/splicer.h>
#include <peal/engine/readiness/poller.h>
#include <peal/engine/turn_budget.h>

namespace peal::detail {

class ReadinessEngine final : public Engine {
 public:
  // `name` is the engine's and outlives it; `make_poller` is called by open().
  ReadinessEngine(std::string_view name, MakePoller make_poller);
  ~ReadinessEngine() override;

  std::string_view name() const override { return name_; }
  Result<void> open() override;
  void shut() override;

  Result<ListenerId> bind(const SocketAddress& address, const ListenOptions& options) override {
    return listeners_.bind(address, options);
  }
  Result<ListenerId> adopt_listener(Fd listening, const AdoptOptions& options) override {
    return listeners_.adopt(std::move(listening), options);
  }
  Result<SocketAddress> local_address(ListenerId id) const override { return listeners_.local_address(id); }
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
  size_t queued_bytes(StreamId id) const override { return find(id) == nullptr ? 0 : queued(*find(id)); }
  size_t held_bytes(StreamId id) const override { return find(id) == nullptr ? 0 : held_bytes(*find(id)); }
  uint64_t unsent_bytes(StreamId id) const override { return detail::unsent_bytes(fd_of(find(id))); }
  void shutdown_send(StreamId id) override;
  void close(StreamId id, CloseHow how) override;
  Result<SocketAddress> local_address(StreamId id) const override { return detail::local_address(fd_of(find(id))); }
  Result<SocketAddress> peer_address(StreamId id) const override { return detail::peer_address(fd_of(find(id))); }
  Result<void> set_option(StreamId id, SocketOption option, int value) override {
    return set_socket_option(fd_of(find(id)), option, value);
  }
  Result<TcpFacts> tcp_facts(StreamId id) const override { return detail::tcp_facts(fd_of(find(id))); }

  Result<WatchId> watch(int fd, bool readable, bool writable, WatchEvents& events) override;
  void unwatch(WatchId id) override;

  void before_wait(std::move_only_function<bool()> task) override {
    before_wait_.push_back(std::move(task));
    unfinished_ = true;
  }
  size_t wait(TimePoint deadline) override;
  void note_waits(TimePoint& woke_at, Duration& worked) override;
  TimePoint now() const override { return monotonic_now(); }
  std::shared_ptr<Waker> waker() override { return waker_; }
  const EngineStats& stats() const override { return stats_; }

 private:
  // Bits of Stream::input. What is exactly kReceiving can be read without another thought.
  enum Input : uint8_t {
    kReceiving = 1,  // wanted by the owner
    kUnread = 2,     // the poller said so, and no read has come up empty since
    kHungUp = 4,     // RDHUP, HUP, ERR or PRI was seen: read until the end
    kInputOver = 8,  // the end was reported
    kListed = 16,    // on the ready list
    kForwarding = 32,
    kWaiting = 64,  // forwarding, until the other stream's output is out
    kGone = 128,    // an error was reported, which receiving will come to
  };
  // Bits of Stream::output. Zero: what is queued can be sent.
  enum Output : uint16_t {
    kStalled = 1,  // connecting, or the kernel's send buffer is full: wait for writability
    kConnecting = 2,
    kOutputOver = 4,  // failed, or FIN was asked for: no more is taken
    kReportSent = 8,  // what is to be done once output has moved on
    kSendFin = 16,
    kDetach = 32,
    kFiles = 64,      // file ranges are queued, and what came after them
    kFed = 128,       // some stream is forwarded to it, or was and not all is out
    kInFlight = 256,  // the poller sends the front of what is queued
    kPutOff = 512,    // waits for a turn that has bulk budget left
  };
  // One cache line: what an idle connection costs here.
  struct alignas(64) Stream : SlotLinks {
    StreamEvents* events = nullptr;
    Buffer out;
    int fd = -1;
    int pending_error = 0;  // reported by the next wait(): what failed inside the call down
    uint16_t output = 0;
    uint16_t in_flight_bytes = 0;  // given to the poller to send, while kInFlight
    uint8_t input = 0;
    bool dirty = false;    // has output to flush
    bool polled = false;   // the poller knows it
    uint8_t interest = 0;  // what the poller was asked for
    bool end_reported =
        false;  // by a level poller, of its end while it was not received from: it need not say so again
  };
  static_assert(sizeof(Stream) == 64);
  struct Watch : SlotLinks {
    int fd = -1;  // that the poller knows
    bool reads = false;
    bool writes = false;
    WatchEvents* events = nullptr;
    Fd second;  // pollers know a fd once, so whoever watches it too has a duplicate
  };
  // A key: 16 bits of generation, 42 of a stream's address or a slot, 6 of the kind.
  enum Kind : uint64_t { kStream = 0, kListener = 1, kWatch = 2, kWaker = 3 };
  static constexpr uint64_t kKindMask = 63;
  static constexpr int kGenerationShift = 48;
  static uint64_t key(const Stream& stream) {
    return uint64_t{stream.generation} << kGenerationShift | reinterpret_cast<uintptr_t>(&stream);
  }
  static Stream* stream_of(uint64_t key) { return reinterpret_cast<Stream*>(key << 16 >> 16); }
  static uint64_t key(Kind kind, uint32_t slot, uint32_t generation) {
    return uint64_t{generation} << kGenerationShift | uint64_t{slot} << 6 | kind;
  }

  // Known to `from` until that closes, and to `to` until all is out.
  struct Forward {
    Splicer pipe;
    StreamId from;
    StreamId to;
    uint64_t bytes = 0;  // moved out of `from`, since its beginning
  };
  // A last completion, waiting for wait() to deliver it.
  struct LastCompletion {
    StreamEvents* stream;
    WatchEvents* watch;
    Fd detached;
    Buffer kept;  // what the poller may still be sending; of a detached one, what nobody has been given yet
    size_t lost_bytes = 0;
  };

  Stream* find(StreamId id);
  const Stream* find(StreamId id) const { return streams_.find(id.slot, id.generation); }
  // Of a stream that is gone: none, which the kernel answers with EBADF.
  static int fd_of(const Stream* stream) { return stream == nullptr ? -1 : stream->fd; }
  StreamId add_stream(Fd fd, StreamEvents& events, bool connecting, int error);
  void release_stream(Stream& stream, bool detach);

  void dispatch(const PollEvent& event);
  [[gnu::noinline]] void dispatch_measured_or_batched(size_t count);
  [[gnu::noinline]] void dispatch_rest(const PollEvent& event);
  // A stream registered for writing too is told of both at once; that means nothing unless it is stalled.
  static bool only_readable(const Stream& stream, uint32_t readiness) {
    return readiness == kReadable || (readiness == (kReadable | kWritable) && !(stream.output & kStalled));
  }
  void stream_ready(Stream& stream, uint32_t readiness);
  void finish_connect(Stream& stream, std::error_code error);
  bool read_once(Stream& stream);
  [[gnu::noinline]] bool read_much(Stream& stream);
  bool deliver(Stream& stream, Buffer bytes, size_t size, bool full);
  [[gnu::noinline]] void read_turn(Stream& stream, bool more);
  [[gnu::noinline]] bool read_failed(Stream& stream, int error);
  [[gnu::noinline]] void update_interest(Stream& stream);
  void list_ready(Stream& stream);
  void report_if_gone(Stream& stream);
  void end_with_pending(Stream& stream);
  size_t serve_ready_list();
  Buffer take_early(const Stream& stream);
  bool deliver_pending(Stream& stream);

  // The stream that is being called up is flushed when it returns; any other waits on the list.
  void make_dirty(Stream& stream) {
    if (stream.dirty) return;
    stream.dirty = true;
    if (&stream != delivering_) queue_dirty(stream);
  }
  [[gnu::noinline]] void queue_dirty(Stream& stream) {
    dirty_.push_back(&stream);
    unfinished_ = true;
  }
  [[gnu::noinline]] size_t send_to_any(StreamId id, Buffer& bytes);
  [[gnu::noinline]] size_t send_copy_after_files(Stream& stream, std::string_view bytes);
  void flush_dirty() {
    if (unfinished_) [[unlikely]]
      flush_all();
  }
  [[gnu::noinline]] void flush_all();
  bool flush(Stream& stream);
  bool send_in_batch(Stream& stream, std::string_view bytes);
  void finish_send(Stream& stream, uint32_t outcome);
  void finish_sends_in_flight();
  void run_before_wait();
  void flush_before_shut();
  [[gnu::noinline]] bool flush_rest(Stream& stream, ssize_t sent, size_t offered_bytes);
  int send_queue(Stream& stream, bool& progress);
  void put_off(Stream& stream);
  void serve_put_off();
  int send_parts(Stream& stream, bool& progress);
  int take_send_result(Stream& stream, ssize_t count, size_t offered_bytes);
  bool fail_output(Stream& stream, int error);
  bool after_output(Stream& stream, bool progress);

  // readiness_zero_copy.cc: files and forwarding.
  int send_front_file(Stream& stream, size_t& budget, bool& progress);
  size_t queued(const Stream& stream) const;
  size_t held_bytes(const Stream& stream) const;
  void drop_output(Stream& stream);
  void forward_turn(Stream& from);
  int drain_feed(Stream& to, bool& progress);
  void resume_feeder(Stream& to);
  void end_forward(Forward& forward);

  [[gnu::noinline]] TimePoint prepare_wait(TimePoint deadline);
  [[gnu::noinline]] size_t finish_turn();
  bool has_work() const;
  void update_unfinished();
  size_t deliver_last_completions();

  static constexpr size_t kMaxPollEvents = 256;
  static constexpr size_t kMaxParts = 64;
  static constexpr size_t kMostSendsInFlight = 64;  // each keeps a block until its outcome is heard

  const std::string_view name_;
  const MakePoller make_poller_;
  const std::shared_ptr<EventWaker> waker_;
  EngineStats stats_;
  ListenerSet listeners_;
  std::unique_ptr<Poller> poller_;
  TimePoint* woke_at_ = nullptr;  // null: nobody asks
  Duration* worked_ = nullptr;
  size_t measured_or_batched_from_ = 0;  // how many events of a wait need more than to be dispatched
  bool edge_ = false;
  bool has_poller_send_ = false;  // though not all the time
  size_t sends_in_flight_ = 0;    // of which nothing was heard yet
  bool batches_sends_ = false;    // small ones are given to the poller now, since other events of this turn are to come
  bool shutting_ = false;
  bool unfinished_ = false;   // something waits on a list below, or a listener is paused
  bool called_back_ = false;  // something was reported before the wait
  bool serving_put_off_ = false;
  size_t bulk_budget_ = kBulkTurnBytes;  // what this turn has left
  std::deque<StreamId> put_off_;         // the longest first; of those that have kPutOff
  SlotTable<Stream> streams_;
  SlotTable<Watch> watches_;
  BlockPool* pool_ = nullptr;                                 // the thread's
  Stream* delivering_ = nullptr;                              // being called up now
  static constexpr StreamId kNobody{UINT32_MAX, UINT32_MAX};  // nor is it the id that names nothing
  StreamId delivering_id_ = kNobody;
  std::vector<Stream*> dirty_;
  std::vector<Stream*> ready_;
  std::vector<Stream*> serving_;                                     // taken from ready_ before the wait
  std::unordered_map<uint32_t, Buffer> pending_deliveries_;          // by slot: what another engine had received
  std::unordered_map<uint32_t, FileQueue> files_;                    // by slot; of those that have kFiles
  std::unordered_map<uint32_t, std::shared_ptr<Forward>> forwards_;  // by the slot of `from`
  std::unordered_map<uint32_t, std::shared_ptr<Forward>> feeds_;     // by the slot of `to`; of those that have kFed
  std::vector<LastCompletion> last_completions_;
  std::vector<std::move_only_function<bool()>> before_wait_;
  std::array<PollEvent, kMaxPollEvents> events_;
};

}  // namespace peal::detail
