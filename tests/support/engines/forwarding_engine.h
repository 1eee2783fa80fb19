// SPDX-License-Identifier: BSD-3-Clause
// ForwardingEngine: passes every call to another engine. Classes that refuse or change some calls derive from it.
#pragma once

#include <memory>
#include <utility>

#include <peal/engine/engine.h>

namespace peal::test {

class ForwardingEngine : public Engine {
 public:
  explicit ForwardingEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  std::string_view name() const override { return engine_->name(); }
  Result<void> open() override { return engine_->open(); }
  void shut() override { engine_->shut(); }
  void before_wait(std::move_only_function<bool()> task) override { engine_->before_wait(std::move(task)); }
  size_t wait(TimePoint deadline) override { return engine_->wait(deadline); }
  void note_waits(TimePoint& woke_at, Duration& worked) override { engine_->note_waits(woke_at, worked); }
  TimePoint now() const override { return engine_->now(); }
  bool keeps_real_time() const override { return engine_->keeps_real_time(); }
  std::shared_ptr<Waker> waker() override { return engine_->waker(); }
  const EngineStats& stats() const override { return engine_->stats(); }
  const NameTable* names() const override { return engine_->names(); }
  uint64_t random_seed() override { return engine_->random_seed(); }

  Result<ListenerId> bind(const SocketAddress& address, const ListenOptions& options) override {
    return engine_->bind(address, options);
  }
  Result<ListenerId> adopt_listener(Fd listening, const AdoptOptions& options) override {
    return engine_->adopt_listener(std::move(listening), options);
  }
  Result<SocketAddress> local_address(ListenerId listener) const override { return engine_->local_address(listener); }
  void accept(ListenerId listener, AcceptEvents& events) override { engine_->accept(listener, events); }
  void stop(ListenerId listener) override { engine_->stop(listener); }

  Result<WatchId> watch(int fd, bool readable, bool writable, WatchEvents& events) override {
    return engine_->watch(fd, readable, writable, events);
  }
  void unwatch(WatchId watch) override { engine_->unwatch(watch); }
  Result<Datagrams*> open_datagrams(const SocketAddress& local, const DatagramOptions& options,
                                    DatagramEvents& events) override {
    return engine_->open_datagrams(local, options, events);
  }

  StreamId connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) override {
    return engine_->connect(address, options, events);
  }
  bool adopts_open() const override { return engine_->adopts_open(); }
  StreamId adopt(LooseStream stream, StreamEvents& events) override {
    return engine_->adopt(std::move(stream), events);
  }
  void detach(StreamId stream) override { engine_->detach(stream); }
  void receive(StreamId stream, bool on) override { engine_->receive(stream, on); }
  size_t send(StreamId stream, Buffer&& bytes) override { return engine_->send(stream, std::move(bytes)); }
  size_t send_copy(StreamId stream, std::string_view bytes) override { return engine_->send_copy(stream, bytes); }
  void report_sent(StreamId stream) override { engine_->report_sent(stream); }
  void send_file(StreamId stream, FileRange range) override { engine_->send_file(stream, std::move(range)); }
  bool forward(StreamId from, StreamId to) override { return engine_->forward(from, to); }
  uint64_t forwarded_bytes(StreamId from) const override { return engine_->forwarded_bytes(from); }
  size_t queued_bytes(StreamId stream) const override { return engine_->queued_bytes(stream); }
  size_t held_bytes(StreamId stream) const override { return engine_->held_bytes(stream); }
  uint64_t withheld_bytes(StreamId stream) const override { return engine_->withheld_bytes(stream); }
  bool waits_for_rest(StreamId stream) const override { return engine_->waits_for_rest(stream); }
  size_t held_input_bytes(StreamId stream) const override { return engine_->held_input_bytes(stream); }
  uint64_t unsent_bytes(StreamId stream) const override { return engine_->unsent_bytes(stream); }
  void shutdown_send(StreamId stream) override { engine_->shutdown_send(stream); }
  void close(StreamId stream, CloseHow how) override { engine_->close(stream, how); }
  Result<SocketAddress> local_address(StreamId stream) const override { return engine_->local_address(stream); }
  Result<SocketAddress> peer_address(StreamId stream) const override { return engine_->peer_address(stream); }
  Result<void> set_option(StreamId stream, SocketOption option, int value) override {
    return engine_->set_option(stream, option, value);
  }
  Result<TcpFacts> tcp_facts(StreamId stream) const override { return engine_->tcp_facts(stream); }

 protected:
  Engine& forwarded_to() { return *engine_; }

 private:
  const std::unique_ptr<Engine> engine_;
};

}  // namespace peal::test
