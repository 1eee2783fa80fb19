// SPDX-License-Identifier: BSD-3-Clause
// SimEngine: the Engine over a SimNetwork. What has something to tell stands on a list; wait() takes the list, in an
// order the seed decides, and lets time pass only when it is empty.
//
// sim_engine.cc decides who exists and how it waits, sim_transfer.cc moves bytes, sim_datagrams.cc datagrams.
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
  // `host`: null: no machine's.
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
  // There is no kernel to move bytes in.
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
  // Until when, in the world's time, the last wait() might have lasted; something to do at once counts as now. Once it
  // has shut: kNever.
  TimePoint asked_until() const {
    if (!open_ || !powered()) return kNever;
    return has_work() ? network_->now() : asked_until_;
  }

 private:
  // Output in memory, or of a file.
  struct Piece {
    Buffer bytes;
    FileRange file;
  };
  struct Stream : SlotLinks {
    StreamEvents* events = nullptr;
    std::shared_ptr<SimEnd> end;
    Buffer early;  // comes before what the end has
    std::vector<Piece> out;
    size_t memory_bytes = 0;
    uint64_t file_bytes = 0;
    bool connecting = false;
    bool receiving = false;
    bool input_over = false;
    bool output_over = false;  // failed, or FIN was asked for
    bool wants_fin = false;
    bool reports = false;
    bool detaching = false;
    bool listed = false;
    bool dirty = false;          // has output to flush
    bool gone_reported = false;  // since it is paused

    size_t queued() const { return memory_bytes + file_bytes; }
  };
  struct Listener : SlotLinks {
    std::shared_ptr<SimListener> socket;
    AcceptEvents* events = nullptr;
    Duration pause = {};  // the last one, without a success since
    bool paused = false;
    bool listed = false;
  };
  struct Datagrams final : SlotLinks, peal::Datagrams {
    Result<SocketAddress> local_address() const override { return socket->address; }
    Result<DatagramBuffers> buffers() const override;
    Result<void> send(const SocketAddress& to, std::string_view bytes) override;
    // The simulated network has no groups.
    Result<void> join(const SocketAddress&, const std::string&) override { return refuse_groups(); }
    Result<void> leave(const SocketAddress&, const std::string&) override { return refuse_groups(); }
    Result<void> refuse_groups() const { return fail(socket->owner == nullptr ? EBADF : EOPNOTSUPP); }
    void close() override;

    SimEngine* engine = nullptr;
    std::shared_ptr<SimDatagrams> socket;  // without an owner once it is closed
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
  template <class Table>
  void mark_ready(Table& table, Kind kind, uint32_t slot) {
    auto& object = table[slot];
    if (object.generation == 0 || std::exchange(object.listed, true)) return;
    ready_.push_back({kind, slot, object.generation});
  }
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
  // What goes wrong before an operation is even tried. True: it is to be left for later.
  bool meets_io_fault(Stream& stream);

  const std::shared_ptr<SimNetwork> network_;
  const std::shared_ptr<const SimHost> host_;
  const std::shared_ptr<EventWaker> waker_ = std::make_shared<EventWaker>();
  EngineStats stats_;
  bool open_ = false;
  bool shutting_ = false;
  size_t bulk_budget_ = kBulkTurnBytes;  // what this turn has left
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
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // asked by what is due later
};

}  // namespace peal::detail
