// SPDX-License-Identifier: BSD-3-Clause
// An echo server for tests that can misbehave. It echoes on each connection until that connection has received
// `after_bytes` bytes. After that, `manner` says what it does with received bytes. With kEcho it always echoes. With
// kKeepFirst it always echoes, too, but closes every connection except the first as soon as it is accepted. The server
// runs a loop on a thread of its own. Create and destroy it on the test's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <load/scripted_listener.h>

namespace peal::load {

enum class Manner : uint8_t { kEcho, kFlipByte, kSendMore, kSilent, kClose, kReset, kKeepFirst };

class ScriptedServer final : public ScriptedListener {
 public:
  explicit ScriptedServer(Manner manner = Manner::kEcho, size_t after_bytes = 0)
      : manner_(manner), after_bytes_(after_bytes) {
    begin_accepting();
  }
  ~ScriptedServer() { end(); }

 private:
  class Peer final : public ScriptedPeer {
   public:
    Peer(ScriptedServer& server, LooseStream loose)
        : server_(server), stream_(server.engine().adopt(std::move(loose), *this)) {
      server_.engine().receive(stream_, true);
    }
    void close() { server_.engine().close(stream_); }

   private:
    void on_received(Buffer& bytes) override {
      received_ += bytes.size();
      if (server_.echoes() || received_ <= server_.after_bytes_) {
        server_.engine().send(stream_, std::move(bytes));
        return;
      }
      std::string text = bytes.to_string();
      switch (server_.manner_) {
        case Manner::kFlipByte:
          text.back() = static_cast<char>(text.back() ^ 1);
          server_.engine().send_copy(stream_, text);
          break;
        case Manner::kSendMore: server_.engine().send_copy(stream_, text + "more"); break;
        case Manner::kClose: server_.engine().close(stream_); break;
        case Manner::kReset: server_.engine().close(stream_, CloseHow::kReset); break;
        case Manner::kEcho:
        case Manner::kKeepFirst:
        case Manner::kSilent: break;
      }
    }
    void on_receive_end(std::error_code) override { server_.engine().close(stream_); }

    ScriptedServer& server_;
    StreamId stream_;
    size_t received_ = 0;
  };

  bool echoes() const { return manner_ == Manner::kEcho || manner_ == Manner::kKeepFirst; }
  void on_accepted(LooseStream stream) override {
    peers_.push_back(std::make_unique<Peer>(*this, std::move(stream)));
    if (manner_ == Manner::kKeepFirst && peers_.size() > 1) peers_.back()->close();
  }

  const Manner manner_;
  const size_t after_bytes_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace peal::load
