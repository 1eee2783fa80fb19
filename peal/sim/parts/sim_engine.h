// SPDX-License-Identifier: BSD-3-Clause
// SimEngine: the Engine over a SimNetwork. Streams, listeners and sockets that have an event are on the list ready_.
// wait() handles the list in an order that the seed decides. It moves the clock only if the list is empty.
//
// sim_engine.cc opens, closes and waits; sim_transfer.cc moves the bytes of streams; sim_datagrams.cc has the datagram
// sockets. An engine is used on the world's thread and owned by its loop.
#pragma once

#include <poll.h>

#include <memory>
#include <utility>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/slot_table.h>
#include <peal/engine/engine.h>
#include <peal/engine/event_waker.h>
#include <peal/engine/turn_budget.h>
#include <peal/sim/parts/sim_network.h>

namespace peal::detail {

class SimEngine final : public Engine, private SimOwner {
 public:
  // Makes an engine for a loop of the machine `host`, or for a loop of no machine if `host` is null.
  SimEngine(std::shared_ptr<SimNetwork> network, std::shared_ptr<const SimHost> host);
  ~SimEngine() override;

  std::string_view name() const override { return "sim"; }
  Result<void> open() override;
  void shut() override;

  Result<ListenerId> bind(const SocketAddress& address, const ListenOptions& options) override;
  Result<SocketAddress> local_address(ListenerId id) const override;
  void accept(ListenerId id, AcceptEvents& events) override;
  void stop(ListenerId id) override;

  StreamId connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) override;
  StreamId adopt(LooseStream loose, StreamEvents& events) override;
  void detach(StreamId id) override;
  void receive(StreamId id, bool on) override;
  size_t send(StreamId id, Buffer&& bytes) override;
  size_t send_copy(StreamId id, std::string_view bytes) override;
  void report_sent(StreamId id) override;
  void send_file(StreamId id, FileRange range) override;
  // forward() always refuses, because there is no kernel that could move the bytes.
  bool forward(StreamId, StreamId) override { return false; }
  uint64_t forwarded_bytes(StreamId) const override { return 0; }
  size_t queued_bytes(StreamId id) const override;
  size_t held_bytes(StreamId id) const override;
  uint64_t unsent_bytes(StreamId id) const override;
  void shutdown_send(StreamId id) override;
  void close(StreamId id, CloseHow how) override;
  Result<SocketAddress> local_address(StreamId id) const override;
  Result<SocketAddress> peer_address(StreamId id) const override;
  Result<void> set_option(StreamId id, SocketOption option, int value) override;

  Result<WatchId> watch(int fd, bool readable, bool writable, WatchEvents& events) override;
  void unwatch(WatchId id) override;

  Result<peal::Datagrams*> open_datagrams(const SocketAddress& local, const DatagramOptions& options,
                                          DatagramEvents& events) override;

  const NameTable* names() const override { return &network_->names; }
  uint64_t random_seed() override { return network_->random(UINT64_MAX); }
  void before_wait(std::move_only_function<bool()> task) override { before_wait_.push_back(std::move(task)); }
  size_t wait(TimePoint deadline) override;
  TimePoint now() const override { return host_ ? host_->local(network_->now()) : network_->now(); }
  bool keeps_real_time() const override { return false; }
  std::shared_ptr<Waker> waker() override { return waker_; }
  const EngineStats& stats() const override { return stats_; }

  const SimNetwork& network() const { return *network_; }
  bool powered() const { return !host_ || host_->on; }
  // Returns the deadline of the last wait(), converted to the world's time. If the engine has work to do at once,
  // returns the current time. Returns kNever if the engine is not open or its machine has no power. The world does not
  // move its clock beyond the earliest of these times of its engines.
  TimePoint asked_until() const {
    if (!open_ || !powered()) return kNever;
    return has_work() ? network_->now() : asked_until_;
  }

 private:
  // One element of the queue of output: bytes in memory, or a range of a file.
  struct Piece {
    Buffer bytes;
    FileRange file;
  };
  struct Stream : SlotLinks {
    StreamEvents* events = nullptr;
    std::shared_ptr<SimEnd> end;
    Buffer early;  // bytes that adopt() got; they are delivered before the bytes of `end`
    std::vector<Piece> out;
    size_t memory_bytes = 0;
    uint64_t file_bytes = 0;
    bool connecting = false;
    bool receiving = false;
    bool input_over = false;
    bool output_over = false;  // true after a send has failed or shutdown_send() was called
    bool wants_fin = false;
    bool reports = false;  // true from report_sent() until on_sent(0)
    bool detaching = false;
    bool listed = false;         // true if the stream is in ready_
    bool dirty = false;          // true if the stream is in dirty_, so that flush_all() writes its output
    bool gone_reported = false;  // true if the end of the connection was reported since the last pause

    size_t queued() const { return memory_bytes + file_bytes; }
  };
  struct Listener : SlotLinks {
    std::shared_ptr<SimListener> socket;
    AcceptEvents* events = nullptr;
    Duration pause = {};  // the length of the last pause; 0 after a successful accept
    bool paused = false;
    bool listed = false;
  };
  struct Datagrams final : SlotLinks, peal::Datagrams {
    Result<SocketAddress> local_address() const override { return socket->address; }
    Result<DatagramBuffers> buffers() const override;
    Result<void> send(const SocketAddress& to, std::string_view bytes) override;
    // join() and leave() always fail, because the simulated network has no multicast groups.
    Result<void> join(const SocketAddress&, const std::string&) override { return refuse_groups(); }
    Result<void> leave(const SocketAddress&, const std::string&) override { return refuse_groups(); }
    Result<void> refuse_groups() const { return fail(socket->owner == nullptr ? EBADF : EOPNOTSUPP); }
    void close() override;

    SimEngine* engine = nullptr;
    std::shared_ptr<SimDatagrams> socket;  // its owner is null after close()
    DatagramEvents* events = nullptr;
    bool listed = false;
  };
  struct Watch : SlotLinks {
    pollfd wanted{};
    WatchEvents* events = nullptr;
  };
  struct Ready {
    Kind kind;
    uint32_t slot;
    uint32_t generation;
  };

  void slot_ready(Kind kind, uint32_t slot) override;
  // Adds a stream, listener or datagram socket to ready_, unless ready_ already contains it.
  template <class Table>
  void mark_ready(Table& table, Kind kind, uint32_t slot) {
    auto& object = table[slot];
    if (object.generation == 0 || std::exchange(object.listed, true)) return;
    ready_.push_back({kind, slot, object.generation});
  }
  // Returns the object with this id. If the id is no longer valid, counts a stale call and returns null.
  template <class Table, class Id>
  auto* find(Table& table, Id id) {
    auto* found = table.find(id.slot, id.generation);
    if (found == nullptr) ++stats_.stale_calls;
    return found;
  }
  Stream* find(StreamId id) { return find(streams_, id); }
  StreamId add_stream(std::shared_ptr<SimEnd> end, Buffer early, bool connecting, StreamEvents& events);
  void release_stream(uint32_t slot, CloseHow how, bool detach);

  void turn();
  bool has_work() const {
    return !ready_.empty() || !dirty_.empty() || !last_completions_.empty() || !before_wait_.empty();
  }
  void run_before_wait();
  bool pass_time(TimePoint deadline);
  void poll_watches(bool sleep);
  void serve_ready();
  void serve_stream(uint32_t slot);
  void serve_listener(uint32_t slot);
  void serve_datagrams(uint32_t slot);
  void pause_accepting(uint32_t slot);
  void deliver_last_completions();

  bool finish_connect(Stream& stream);
  void read_turn(uint32_t slot);
  void end_input(Stream& stream);
  void report_gone(Stream& stream);
  void call_received(Stream& stream, Buffer& bytes);
  void make_dirty(Stream& stream, uint32_t slot);
  void flush_all();
  void flush_before_shut();
  void flush(uint32_t slot);
  int write_out(Stream& stream, bool& progress);
  std::string gather(Stream& stream, size_t most, int& error);
  void drop_output(Stream& stream);
  // Draws the faults that can hit a read or write before it starts: EINTR and EAGAIN. Returns true if EAGAIN strikes.
  // The stream is then notified later, and the caller must not do the operation now.
  bool meets_io_fault(Stream& stream);

  const std::shared_ptr<SimNetwork> network_;
  const std::shared_ptr<const SimHost> host_;
  const std::shared_ptr<EventWaker> waker_ = std::make_shared<EventWaker>();
  EngineStats stats_;
  bool open_ = false;
  bool shutting_ = false;
  size_t bulk_budget_ = kBulkTurnBytes;  // how many bytes of files may still be sent in this turn
  TimePoint asked_until_ = kNever;
  SlotTable<Stream> streams_;
  SlotTable<Listener> listeners_;
  SlotTable<Datagrams> datagrams_;
  SlotTable<Watch> watches_;
  std::vector<Ready> ready_;
  std::vector<StreamId> dirty_;
  std::vector<Callback<void()>> last_completions_;
  std::vector<std::move_only_function<bool()>> before_wait_;
  size_t watched_ = 0;
  std::shared_ptr<bool> alive_ =
      std::make_shared<bool>(true);  // timed actions hold a weak_ptr to see if the engine lives
};

}  // namespace peal::detail
