// SPDX-License-Identifier: BSD-3-Clause
// SealedPort: the smallest layer that has all that TLS has towards its neighbours: a StreamPort over an engine's that
// shakes hands, changes every byte, seals what a call up sent in one piece, marks its end before FIN and takes an end
// without the mark for truncation. It has errors of its own, knows whom it is to reach, and says so in its facts as the
// verified peer; who speaks in the clear is answered so. What runs over it unchanged will run over TLS. sealing.h says
// what is on the wire.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <peal/base/slot_table.h>
#include <peal/engine/engine.h>
#include <tests/support/sealed/sealing.h>

namespace peal::test {

class SealedStream;

class SealedPort final : public StreamPort {
 public:
  // Where streams that were open, and have closed, wait to be told so, while the test wants that.
  struct LateEnds {
    bool held = false;
    std::vector<StreamEvents*> waiting;
    void release() {
      held = false;
      for (StreamEvents* each : std::exchange(waiting, {})) each->on_closed();
    }
  };

  explicit SealedPort(Engine& engine, LateEnds* late_ends = nullptr);
  ~SealedPort() override;

  StreamId connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) override;
  StreamId adopt(LooseStream loose, StreamEvents& events) override;
  StreamId adopt_from(LooseStream loose, const std::string& host, StreamEvents& events) override;
  void answer_in_the_clear(std::string_view text) override { clear_answer_ = text; }
  bool adopts_open() const override { return false; }
  void detach(StreamId id) override;
  void receive(StreamId id, bool on) override;
  size_t send(StreamId id, Buffer&& bytes) override;
  size_t send_copy(StreamId id, std::string_view bytes) override;
  void report_sent(StreamId id) override;
  void send_file(StreamId id, FileRange range) override;
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
  Result<TcpFacts> tcp_facts(StreamId id) const override;
  Result<LayerFacts> layer_facts(StreamId id) const override;
  const std::error_category& errors() const override { return seal_category(); }

 private:
  friend class SealedStream;
  // While one lives the engine has called up; what was touched meanwhile is served at its end.
  class CallUp {
   public:
    explicit CallUp(SealedPort& port) : port_(port) { ++port_.depth_; }
    ~CallUp() {
      if (port_.depth_ == 1) port_.serve();
      --port_.depth_;
    }

   private:
    SealedPort& port_;
  };
  struct Entry : SlotLinks {
    std::unique_ptr<SealedStream> stream;
  };

  SealedStream* find(StreamId id) const;
  StreamId below(StreamId id) const;
  SealedStream& add(StreamEvents& events);
  // The stream has something to seal or to deliver: when the call up is over, or in the next wait.
  void touch(SealedStream& stream);
  // The stream's last words are queued: it is closed after the next wait, whether they found room or not.
  void leave(SealedStream& stream);
  void call_before_wait();
  void serve();

  Engine& engine_;
  LateEnds* const late_ends_;
  std::string_view clear_answer_;
  SlotTable<Entry> streams_;
  std::vector<StreamId> touched_;
  std::vector<StreamId> leaving_;  // by what is below, as are the next
  std::vector<StreamId> left_;     // a wait has begun since
  int depth_ = 0;
  bool waits_ = false;  // the engine has a task of this
  bool told_ = false;   // somebody, since serve() began
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class SealedLayer final : public StreamLayer {
 public:
  explicit SealedLayer(SealedPort::LateEnds* late_ends = nullptr) : late_ends_(late_ends) {}
  std::unique_ptr<StreamPort> over(Engine& engine) const noexcept override {
    return std::make_unique<SealedPort>(engine, late_ends_);
  }

 private:
  SealedPort::LateEnds* const late_ends_;
};

}  // namespace peal::test
