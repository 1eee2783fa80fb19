// SPDX-License-Identifier: BSD-3-Clause
// SealedPort: a simple layer that takes the place of TLS in tests. It has all the properties of TLS that other code
// depends on, so code that works over a SealedPort also works over TLS. It lies above an engine and
// - begins with a handshake,
// - changes every byte, and seals in one piece what the owner has sent inside one callback,
// - sends an end mark before FIN, and reports an end without the mark as truncation,
// - has errors of its own,
// - knows which host it must reach, and reports it as the verified peer,
// - answers a peer that does not seal with a plain text.
//
// sealing.h describes the bytes on the wire.
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
  // With a LateEnds, a test can delay the report that a stream has ended. While `held` is true, the port does not call
  // on_closed() of a stream's owner when the stream has ended, but adds the owner to `waiting`. Streams whose handshake
  // is not done are not delayed. release() sets `held` to false and calls on_closed() of all owners in `waiting`.
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
  // A CallUp exists while the engine calls a task of this port or an event function of a stream. on_closed() and
  // on_output_lost() make no CallUp. The destructor calls serve() of all streams in touched_, so that everything that
  // an owner has sent inside one callback is sealed in one piece. If CallUps are nested, only the destructor of the
  // outermost one calls serve().
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
  // Notes that the stream has input to deliver or output to send. The port does this work at the end of the current
  // callback. Outside of callbacks, it does the work in the next wait().
  void touch(SealedStream& stream);
  // Closes the stream in the second wait() from now, so that the engine has time to send the stream's last bytes. The
  // stream is closed even if some of them are still unsent.
  void leave(SealedStream& stream);
  void call_before_wait();
  void serve();

  Engine& engine_;
  LateEnds* const late_ends_;
  std::string_view clear_answer_;
  SlotTable<Entry> streams_;
  std::vector<StreamId> touched_;
  // The engine's ids of the streams that leave() will close. The next wait() moves them from leaving_ to left_. The
  // wait() after that closes them.
  std::vector<StreamId> leaving_;
  std::vector<StreamId> left_;
  int depth_ = 0;
  bool waits_ = false;  // the engine will call a task of this port in its next wait()
  bool told_ = false;   // a callback of an owner was called since the last task began
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
