// SPDX-License-Identifier: BSD-3-Clause
// ReadinessEngine: the Engine over a Poller. Like every engine it reports completions. It tries a system call first,
// and waits for readiness only if the call would block. Used on the loop's thread, as Engine says.
//
// On an edge-triggered poller a stream is registered once, for reading. Its first short write adds an interest in
// writing, which stays. On a level-triggered poller the interest is changed whenever the stream wants something else.
// Each stream may move a limited number of bytes in a turn (turn_budget.h). A stream that has reached the limit goes to
// the end of the ready list and continues in the next turn.
//
// A key given to the poller holds a generation, a stream's address or a slot, and a kind. An event with a generation
// that is over is ignored. A live stream is found by its address, without a search, because an echo takes only a few
// hundred instructions.
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
  // `name` is the engine's name and must outlive the engine. `make_poller` is called inside open().
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
  // Bits of Stream::input. If kReceiving is the only bit that is set, the stream can be read without any other check.
  enum Input : uint8_t {
    kReceiving = 1,    // The owner has switched receiving on.
    kUnread = 2,       // The poller has reported input, and no read has found the socket empty since.
    kHungUp = 4,       // RDHUP, HUP, ERR or PRI was reported, so reads must go on until one finds the end.
    kInputOver = 8,    // The end of the input was reported to the owner.
    kListed = 16,      // The stream is on the ready list.
    kForwarding = 32,  // forward() moves the input to another stream.
    kWaiting = 64,     // Forwarding waits until the other stream's output has been sent.
    kGone = 128,       // The poller has reported an error, which a read will return.
  };

  // Bits of Stream::output. If no bit is set, queued output can be sent at once.
  enum Output : uint16_t {
    kStalled = 1,     // The stream is connecting or the kernel's send buffer is full; it waits for writability.
    kConnecting = 2,  // connect() has not finished.
    kOutputOver = 4,  // Output has failed or FIN was asked for, so no more output is taken.
    kReportSent = 8,  // report_sent() was called: progress must be reported.
    kSendFin = 16,    // FIN must follow the queued output.
    kDetach = 32,     // The stream is detached when the queued output has been sent.
    kFiles = 64,      // files_ has file ranges of this stream, and the bytes queued after them.
    kFed = 128,       // feeds_ has an entry: a stream is forwarded to this one, or was and the pipe is not empty.
    kInFlight = 256,  // The poller is sending the first bytes of the queue.
    kPutOff = 512,    // The stream is on put_off_, until a turn has bulk budget left.
  };

  // State of one stream. It fills one cache line (64 bytes), and an idle connection takes no other memory in the
  // engine.
  struct alignas(64) Stream : SlotLinks {
    StreamEvents* events = nullptr;
    Buffer out;
    int fd = -1;
    // Errno of a failed connect() or adopt(), or of a failure that was found while receiving was off. 0 if there is
    // none. wait() reports the error later.
    int pending_error = 0;
    uint16_t output = 0;
    uint16_t in_flight_bytes = 0;  // Bytes given to the poller to send, while kInFlight is set.
    uint8_t input = 0;
    bool dirty = false;    // True if there is output to send or progress to report.
    bool polled = false;   // True if the poller watches the fd.
    uint8_t interest = 0;  // The interest that was last given to the poller.
    // True if a level-triggered poller has reported an end or error while receiving was off. The engine then no longer
    // asks the poller for such reports.
    bool end_reported = false;
  };
  static_assert(sizeof(Stream) == 64);

  struct Watch : SlotLinks {
    int fd = -1;  // The fd that the poller watches.
    bool reads = false;
    bool writes = false;
    WatchEvents* events = nullptr;
    Fd second;  // A duplicate of the fd, if another watch has it already: some pollers take each fd only once.
  };

  // Kinds of keys. A key has 16 bits of a generation, 42 bits of a stream's address or of a slot, and 6 bits that name
  // the kind. The last 6 bits of a stream's address are zero, which is the value of kStream.
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

  // Forwarding of one stream to another. The map forwards_ holds this object until `from` closes. The map feeds_ holds
  // it until everything was sent to `to`.
  struct Forward {
    Splicer pipe;
    StreamId from;
    StreamId to;
    uint64_t bytes = 0;  // Bytes taken out of `from` by all its forwards.
  };

  // A last completion that wait() must still deliver.
  struct LastCompletion {
    StreamEvents* stream;
    WatchEvents* watch;
    Fd detached;
    // For a closed stream: output that the poller may still be sending. For a detached stream: input that was not
    // delivered.
    Buffer kept;
    size_t lost_bytes = 0;
  };

  // Returns the stream, or null if the id is dead. If the id is dead, the first overload also counts a stale call.
  Stream* find(StreamId id);
  const Stream* find(StreamId id) const { return streams_.find(id.slot, id.generation); }

  // Returns the stream's fd. If `stream` is null, returns -1, with which any system call fails with EBADF.
  static int fd_of(const Stream* stream) { return stream == nullptr ? -1 : stream->fd; }
  StreamId add_stream(Fd fd, StreamEvents& events, bool connecting, int error);
  void release_stream(Stream& stream, bool detach);

  // dispatch() handles one event. Its fast path is plain input of an open stream; dispatch_rest() handles all other
  // events. dispatch_measured_or_batched() handles the events of a whole turn.
  void dispatch(const PollEvent& event);
  [[gnu::noinline]] void dispatch_measured_or_batched(size_t count);
  [[gnu::noinline]] void dispatch_rest(const PollEvent& event);

  // Returns whether the only thing to do for an event is to read. If the poller also watches the stream for writing, it
  // reports kReadable and kWritable together. kWritable matters only if the stream is stalled.
  static bool only_readable(const Stream& stream, uint32_t readiness) {
    return readiness == kReadable || (readiness == (kReadable | kWritable) && !(stream.output & kStalled));
  }
  void stream_ready(Stream& stream, uint32_t readiness);
  void finish_connect(Stream& stream, std::error_code error);

  // Functions that read input and report its end. The functions that return bool return true if the stream should be
  // read again at once.
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

  // Marks that the stream has something to send or report. If on_received() of the stream is being called, deliver()
  // flushes the stream after that. Otherwise the stream is added to the list dirty_.
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

  // Functions that send output and report progress. The functions that return bool return false if the stream has been
  // closed or detached. The functions that return int return 0, or the errno after which nothing more can be sent.
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

  // Functions for file ranges and forwarding, which are defined in readiness_zero_copy.cc.
  int send_front_file(Stream& stream, size_t& budget, bool& progress);
  size_t queued(const Stream& stream) const;
  size_t held_bytes(const Stream& stream) const;
  void drop_output(Stream& stream);
  void forward_turn(Stream& from);
  int drain_feed(Stream& to, bool& progress);
  void resume_feeder(Stream& to);
  void end_forward(Forward& forward);

  // prepare_wait() is the part of wait() before the poller's wait, and finish_turn() is the part after it. wait() skips
  // both if unfinished_ is false.
  [[gnu::noinline]] TimePoint prepare_wait(TimePoint deadline);
  [[gnu::noinline]] size_t finish_turn();

  // has_work() returns whether one of the lists of pending work is not empty, for example dirty_ or ready_.
  // update_unfinished() sets unfinished_.
  bool has_work() const;
  void update_unfinished();

  // Delivers the last completions of closed streams, watches and listeners. Returns how many callbacks were called.
  size_t deliver_last_completions();

  static constexpr size_t kMaxPollEvents = 256;
  static constexpr size_t kMaxParts = 64;
  static constexpr size_t kMostSendsInFlight = 64;  // Each of them keeps a block until its outcome is reported.

  const std::string_view name_;
  const MakePoller make_poller_;
  const std::shared_ptr<EventWaker> waker_;
  EngineStats stats_;
  ListenerSet listeners_;
  std::unique_ptr<Poller> poller_;
  TimePoint* woke_at_ = nullptr;  // The variables given to note_waits(); null if waits are not measured.
  Duration* worked_ = nullptr;
  // A wait that returns at least this many events uses dispatch_measured_or_batched(): 0 if waits are measured, 2 if
  // the poller can batch sends, SIZE_MAX if neither is true.
  size_t measured_or_batched_from_ = 0;
  bool edge_ = false;             // True if the poller is edge-triggered.
  bool has_poller_send_ = false;  // True if the poller has a send(), even if it does not take sends at present.
  size_t sends_in_flight_ = 0;    // Sends given to the poller whose outcome is not known yet.
  // True if small sends are given to the poller, because further events of the current turn follow.
  bool batches_sends_ = false;
  bool shutting_ = false;
  bool unfinished_ = false;  // True if a list below is not empty, a listener is paused, or bulk budget was used.
  // True if the current wait() has called a callback that no event of the poller caused. The result of wait() is then
  // one higher.
  bool called_back_ = false;
  bool serving_put_off_ = false;
  size_t bulk_budget_ = kBulkTurnBytes;  // Bytes that this turn may still send in bulk.
  std::deque<StreamId> put_off_;         // The streams that have kPutOff, the longest waiting first.
  SlotTable<Stream> streams_;
  SlotTable<Watch> watches_;
  BlockPool* pool_ = nullptr;     // The block pool of the engine's thread.
  Stream* delivering_ = nullptr;  // The stream whose on_received() is being called.
  // An id that no stream has. It differs from the default id, because otherwise a call send() with a default id would
  // match delivering_id_ and use delivering_, which may be null.
  static constexpr StreamId kNobody{UINT32_MAX, UINT32_MAX};
  StreamId delivering_id_ = kNobody;
  std::vector<Stream*> dirty_;
  std::vector<Stream*> ready_;
  std::vector<Stream*> serving_;  // The streams taken from ready_ before the wait, to be served after it.
  // Maps a stream's slot to input that another engine had received before this engine adopted the stream.
  std::unordered_map<uint32_t, Buffer> pending_deliveries_;
  std::unordered_map<uint32_t, FileQueue> files_;                    // By slot, for streams that have kFiles.
  std::unordered_map<uint32_t, std::shared_ptr<Forward>> forwards_;  // By the slot of `from`.
  std::unordered_map<uint32_t, std::shared_ptr<Forward>> feeds_;     // By the slot of `to`, which has kFed.
  std::vector<LastCompletion> last_completions_;
  std::vector<std::move_only_function<bool()>> before_wait_;
  std::array<PollEvent, kMaxPollEvents> events_;
};

}  // namespace peal::detail
