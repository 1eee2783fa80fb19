// SPDX-License-Identifier: BSD-3-Clause
// LayeredEngine: an engine whose streams run over layers. Streams that it connects use the layer `clients`, and streams
// that it adopts use the layer `servers`, like the two sides of TLS. If only one layer is given, all streams use it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <tests/support/engines/forwarding_engine.h>

namespace peal::test {

class LayeredEngine final : public ForwardingEngine {
 public:
  // The lowest slot number of streams that use the layer `clients`. Streams that use the layer `servers` have lower
  // numbers. So the slot number in a stream's id shows which layer the stream uses.
  static constexpr uint32_t kClientSlots = 1U << 31;

  LayeredEngine(std::unique_ptr<Engine> engine, const StreamLayer& clients, const StreamLayer& servers)
      : ForwardingEngine(std::move(engine)),
        clients_(clients.over(forwarded_to())),
        servers_(servers.over(forwarded_to())) {}
  LayeredEngine(std::unique_ptr<Engine> engine, const StreamLayer& layer)
      : ForwardingEngine(std::move(engine)), clients_(layer.over(forwarded_to())), servers_(clients_) {}
  ~LayeredEngine() override { ForwardingEngine::shut(); }

  using ForwardingEngine::local_address;
  StreamId connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) override {
    return clients_->connect(address, options, events);
  }
  bool adopts_open() const override { return servers_->adopts_open(); }
  StreamId adopt_from(LooseStream loose, const std::string& host, StreamEvents& events) override {
    return servers_->adopt_from(std::move(loose), host, events);
  }
  void answer_in_the_clear(std::string_view text) override { servers_->answer_in_the_clear(text); }
  StreamId adopt(LooseStream loose, StreamEvents& events) override { return servers_->adopt(std::move(loose), events); }
  void detach(StreamId id) override { port(id).detach(id); }
  void receive(StreamId id, bool on) override { port(id).receive(id, on); }
  size_t send(StreamId id, Buffer&& bytes) override { return port(id).send(id, std::move(bytes)); }
  size_t send_copy(StreamId id, std::string_view bytes) override { return port(id).send_copy(id, bytes); }
  void report_sent(StreamId id) override { port(id).report_sent(id); }
  void send_file(StreamId id, FileRange range) override { port(id).send_file(id, std::move(range)); }
  bool forward(StreamId from, StreamId to) override { return port(from).forward(from, to); }
  uint64_t forwarded_bytes(StreamId from) const override { return port(from).forwarded_bytes(from); }
  size_t queued_bytes(StreamId id) const override { return port(id).queued_bytes(id); }
  size_t held_bytes(StreamId id) const override { return port(id).held_bytes(id); }
  uint64_t withheld_bytes(StreamId id) const override { return port(id).withheld_bytes(id); }
  bool waits_for_rest(StreamId id) const override { return port(id).waits_for_rest(id); }
  size_t held_input_bytes(StreamId id) const override { return port(id).held_input_bytes(id); }
  uint64_t unsent_bytes(StreamId id) const override { return port(id).unsent_bytes(id); }
  void shutdown_send(StreamId id) override { port(id).shutdown_send(id); }
  void close(StreamId id, CloseHow how) override { port(id).close(id, how); }
  Result<SocketAddress> local_address(StreamId id) const override { return port(id).local_address(id); }
  Result<SocketAddress> peer_address(StreamId id) const override { return port(id).peer_address(id); }
  Result<void> set_option(StreamId id, SocketOption option, int value) override {
    return port(id).set_option(id, option, value);
  }
  Result<TcpFacts> tcp_facts(StreamId id) const override { return port(id).tcp_facts(id); }
  Result<LayerFacts> layer_facts(StreamId id) const override { return port(id).layer_facts(id); }
  const std::error_category& errors() const override { return servers_->errors(); }

 private:
  StreamPort& port(StreamId id) const { return id.slot >= kClientSlots ? *clients_ : *servers_; }

  const std::shared_ptr<StreamPort> clients_;
  const std::shared_ptr<StreamPort> servers_;
};

}  // namespace peal::test
