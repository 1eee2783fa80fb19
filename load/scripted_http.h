// SPDX-License-Identifier: BSD-3-Clause
// An HTTP server for tests. A script decides how it answers each request: with which bytes, after which delay, and
// whether it then closes the connection. A request ends at its empty line or, if it has a Content-Length, after its
// body. The server runs a loop on a thread of its own. Create and destroy it on the test's thread.
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
  Duration delay{};   // time before the answer is sent; later requests on this connection wait for it
  Duration freeze{};  // time for which the whole server sleeps before `delay` begins
  bool close = false;
  bool reset = false;
  bool silent = false;  // sends no answer
};

class ScriptedHttp final : public ScriptedListener {
 public:
  // A function that returns the answer to a request. The server calls it on its own thread. `connection` is the number
  // of the connection. `request` is the number of the request on this connection. Both numbers begin at 0. `text` is
  // the complete request.
  using Script = std::function<ScriptedAnswer(size_t connection, size_t request, const std::string& text)>;

  // Keeps the first `staying` connections open. Closes every further connection as soon as it is accepted.
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

    // Removes the first complete request from the received text and returns this request. Returns an empty string if no
    // request is complete yet.
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
    bool waiting_ = false;  // true while a delayed answer has not been sent
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
