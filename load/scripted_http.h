// SPDX-License-Identifier: BSD-3-Clause
// ScriptedHttp: for tests, a server that answers each request as a script says: with these bytes, after so long, and
// then perhaps closes. Requests are told apart by their empty line and Content-Length. One loop on a thread of its own;
// made and destroyed on the test's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <load/scripted_listener.h>

namespace peal::load {

struct ScriptedAnswer {
  std::string bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  Duration delay{};   // before it is sent; the request behind it waits its turn
  Duration freeze{};  // before that the whole server stands still
  bool close = false;
  bool reset = false;
  bool silent = false;  // no answer at all
};

class ScriptedHttp final : public ScriptedListener {
 public:
  // Called on the server's thread: the connection and the request on it, both counted from 0, and the request's text.
  using Script = std::function<ScriptedAnswer(size_t connection, size_t request, const std::string& text)>;

  // All connections but the first `staying` ones are closed as they are accepted.
  explicit ScriptedHttp(Script script, size_t staying = SIZE_MAX) : script_(std::move(script)), staying_(staying) {
    begin_accepting();
  }
  ~ScriptedHttp() { end(); }

  std::string url() const { return fmt::format("http://{}/", address().to_string()); }

 private:
  class Peer final : public ScriptedPeer {
   public:
    Peer(ScriptedHttp& server, size_t number, LooseStream loose)
        : server_(server), number_(number), stream_(server.engine().adopt(std::move(loose), *this)) {
      server_.engine().receive(stream_, true);
    }
    void close() { server_.engine().close(std::exchange(stream_, {})); }

   private:
    void on_received(Buffer& bytes) override {
      text_ += bytes.to_string();
      answer_next();
    }

    // The text of one whole request, or nothing.
    std::string take_request() {
      const size_t head = text_.find("\r\n\r\n");
      if (head == std::string::npos) return {};
      const size_t at = text_.find("Content-Length: ");
      const size_t body = at < head ? std::stoul(text_.substr(at + 16)) : 0;
      if (text_.size() < head + 4 + body) return {};
      std::string request = text_.substr(0, head + 4 + body);
      text_.erase(0, request.size());
      return request;
    }

    void answer_next() {
      while (stream_ && !waiting_) {
        const std::string request = take_request();
        if (request.empty()) return;
        ScriptedAnswer answer = server_.script_(number_, requests_++, request);
        std::this_thread::sleep_for(answer.freeze);
        if (answer.delay == Duration::zero()) {
          carry_out(answer);
          continue;
        }
        waiting_ = true;
        server_.loop().after(answer.delay, [this, answer = std::move(answer)] {
          waiting_ = false;
          carry_out(answer);
          answer_next();
        });
      }
    }

    void carry_out(const ScriptedAnswer& answer) {
      if (!stream_ || answer.silent) return;
      Engine& engine = server_.engine();
      if (!answer.bytes.empty()) engine.send_copy(stream_, answer.bytes);
      if (answer.reset) {
        engine.close(std::exchange(stream_, {}), CloseHow::kReset);
      } else if (answer.close) {
        engine.shutdown_send(stream_);
      }
    }

    void on_receive_end(std::error_code) override {
      if (stream_) server_.engine().close(std::exchange(stream_, {}));
    }

    ScriptedHttp& server_;
    const size_t number_;
    StreamId stream_;
    std::string text_;
    size_t requests_ = 0;
    bool waiting_ = false;  // an answer is being delayed
  };

  void on_accepted(LooseStream stream) override {
    peers_.push_back(std::make_unique<Peer>(*this, peers_.size(), std::move(stream)));
    if (peers_.size() > staying_) peers_.back()->close();
  }

  const Script script_;
  const size_t staying_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace peal::load
