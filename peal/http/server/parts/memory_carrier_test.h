// SPDX-License-Identifier: BSD-3-Clause
// MemoryStreams: a connection in memory for tests of exchanges without HTTP/1.1. Like a connection of HTTP/2 it has any
// number of exchanges at a time. Each is a MemoryCarrier, which records what is sent to the client.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/base/assert.h>
#include <peal/http/server/parts/http_carrier.h>
#include <peal/http/server/parts/http_core.h>
#include <peal/http/server/parts/http_server_session.h>
#include <peal/loop/loop.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/http/http_request_parser.h>
#include <tests/support/sim_rig.h>

namespace peal::detail {

// MemoryAnswer: the answer as a client would know it.
struct MemoryAnswer {
  std::vector<std::string> interim;  // such as "103 Link=x|"
  int status = 0;
  std::string content_type;
  std::string fields;              // such as "Allow=GET|Etag=..|"
  std::optional<uint64_t> length;  // as the head states it
  bool content_follows = false;
  std::vector<std::string> pieces;
  size_t unread_bytes = 0;    // the part of `pieces` not read yet; see MemoryStreams::high_water_bytes
  size_t gathered_bytes = 0;  // as reported for the request's body
  bool ended = false;
  bool was_reset = false;
  bool released = false;  // true if nothing uses the exchange any more

  std::string body() const {
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    return text;
  }
};

class MemoryCarrier;
class MemoryStreams;

// MemoryRequest: the client's side of an exchange. Valid as long as its MemoryStreams.
class MemoryRequest {
 public:
  MemoryRequest(MemoryStreams& streams, const MemoryCarrier& carrier);
  const MemoryAnswer* operator->() const { return answer_.get(); }

  // Send a piece of the body, send its end, or reset the exchange. Do nothing if the server has ended the exchange.
  void send(std::string_view piece);
  void end();
  void reset();

  // Reads all that was sent of the answer so far.
  void read();

  // Calls `task` with the exchange, as HttpExchangeHandle::run() does on the loop.
  void run(HttpCallback task);

 private:
  MemoryCarrier* carrier() const;

  MemoryStreams* streams_;
  uint64_t serial_;
  std::shared_ptr<MemoryAnswer> answer_;
};

class MemoryStreams : public HttpServerSession {
 public:
  MemoryStreams(Loop& loop, Router router, const HttpServerOptions& options = {})
      : MemoryStreams(std::make_shared<HttpCore>(std::move(router), options)) {
    core_->add(loop);
  }
  // Makes one of several connections that share routes and loop.
  explicit MemoryStreams(std::shared_ptr<HttpCore> core) : core_(std::move(core)) {}
  ~MemoryStreams() override { abandon_all(false); }

  // Sends a request, such as "GET /path" or "POST /x\r\nExpect: 100-continue". `has_body`: pieces and an end must
  // follow.
  MemoryRequest ask(std::string_view request, bool has_body = false);
  HttpShard& shard() { return *core_->shards().front(); }
  HttpStats& stats() { return shard().stats(); }
  size_t count() const { return carriers_.size(); }
  void abandon_all(bool notify);

  Connection* connection = nullptr;  // the connection that all exchanges report; may be null
  size_t high_water_bytes = 1000;

  void received(Buffer& input) override { input.clear(); }
  void writable() override {}
  void peer_ended() override {}
  void drain() override {}
  void closed(CloseReason) override { abandon_all(true); }
  void timed_out(HttpWait) override {}
  inline HttpCarrier* carrier_of(uint64_t serial) override;

 private:
  friend class MemoryCarrier;
  const std::shared_ptr<HttpCore> core_;
  std::vector<MemoryCarrier*> carriers_;
};

class MemoryCarrier final : public HttpCarrier {
 public:
  explicit MemoryCarrier(MemoryStreams& streams) : HttpCarrier(streams.shard()), streams_(streams) {
    streams.carriers_.push_back(this);
    open();
  }

  // The answer that the client has received, for the test.
  const std::shared_ptr<MemoryAnswer> answer = std::make_shared<MemoryAnswer>();

  void send_interim(int status, std::string_view lines) override {
    answer->interim.push_back(std::to_string(status) + " " + fields_of(lines));
  }
  void send_answer(const HttpAnswerHead& head, std::string_view body) override {
    send_head(head);
    if (!body.empty()) send_piece(body);
    send_end();
  }
  void send_ok(std::string_view content_type, std::string_view body) override {
    send_answer(ok_head(content_type, body.size()), body);
  }
  void send_head(const HttpAnswerHead& head) override {
    PEAL_ASSERT(answer->status == 0, "a second answer, {}", head.status);
    answer->status = head.status;
    answer->content_type = head.content_type;
    answer->fields = fields_of(fields().lines());
    if (head.says_length) answer->length = head.length;
    answer->content_follows = head.has_content;
  }
  void send_piece(std::string_view piece) override { put(std::string(piece)); }
  void send_piece(Buffer&& piece) override { put(std::exchange(piece, Buffer()).to_string()); }
  void send_piece(FileRange range) override {
    std::string bytes(range.bytes, '\0');
    const ssize_t got = ::pread(range.file->get(), bytes.data(), bytes.size(), static_cast<off_t>(range.offset));
    PEAL_ASSERT(got == static_cast<ssize_t>(bytes.size()), "{} bytes of a file, of {}", got, bytes.size());
    put(std::move(bytes));
  }
  void send_end() override { answer->ended = true; }
  bool flush() override { return !above_; }
  bool above_high_water() const override { return above_; }
  bool can_send() const override { return !answer->was_reset; }
  void send_reset() override {
    if (std::exchange(answer->was_reset, true)) return;
    shard().loop().post([this, answer = answer] {
      if (!gone_) go([this] { abandon(true); });
    });
  }
  void advance() override {
    if (in_call() || gone_ || std::exchange(advancing_, true)) return;
    take_body();
    advancing_ = false;
    if (!complete()) return;
    go([this] {  // each exchange has a stream of its own, so the rest of the body is not read
      if (detach()) give_back();
    });
  }
  void limit_body(uint64_t bytes) override { body_limit_bytes_ = bytes; }
  int send_upgrade(std::string_view) override { return 0; }
  void hand_over(std::unique_ptr<UpgradeHandler>) override {}
  Connection& underlying_connection() const override {
    PEAL_ASSERT(streams_.connection != nullptr, "exchange {} goes by no connection", serial());
    return *streams_.connection;
  }
  bool has_connection() const override { return streams_.connection != nullptr; }
  void report_gathered(size_t held_bytes) override { answer->gathered_bytes = held_bytes; }
  void give_back() override {
    answer->released = true;
    delete this;
  }

 private:
  friend class MemoryRequest;
  friend class MemoryStreams;
  static std::string fields_of(std::string_view lines) {
    std::string text;
    for (HttpField field; next_http_field(lines, field);)
      text.append(field.name).append("=").append(field.value) += '|';
    return text;
  }
  void put(std::string piece) {
    PEAL_ASSERT(answer->content_follows && !answer->ended, "{} bytes behind the end", piece.size());
    answer->unread_bytes += piece.size();
    above_ = answer->unread_bytes > streams_.high_water_bytes;
    answer->pieces.push_back(std::move(piece));
  }
  void take_body() {
    while (!input_.empty() && wants_body() && !in_call()) {
      const std::string piece = std::move(input_.front());
      input_.pop_front();
      taken_bytes_ += piece.size();
      if (taken_bytes_ > body_limit_bytes_) {
        ++shard().stats().too_large;
        if (begun()) return send_reset();
        return answer_instead(413);
      }
      body_arrived(piece);
    }
    if (input_.empty() && input_ended_ && !request_read() && body_taken()) body_ended();
  }
  // Removes the carrier from its MemoryStreams, then calls `way`, which may destroy the carrier.
  template <class Way>
  void go(Way way) {
    gone_ = true;
    std::erase(streams_.carriers_, this);
    way();
  }

  MemoryStreams& streams_;
  HttpRequestParser parser_{shard().core().options().limits};  // for the head only
  std::deque<std::string> input_;
  uint64_t taken_bytes_ = 0;
  uint64_t body_limit_bytes_ = 0;
  bool input_ended_ = false;
  bool above_ = false;
  bool advancing_ = false;
  bool gone_ = false;  // true after the removal; a coroutine may still use the carrier
};

inline MemoryRequest MemoryStreams::ask(std::string_view request, bool has_body) {
  auto& carrier = *new MemoryCarrier(*this);
  MemoryRequest asked(*this, carrier);
  const size_t line = std::min(request.find('\r'), request.size());
  const std::string text = std::string(request.substr(0, line)) + " HTTP/1.1\r\nHost: memory" +
                           std::string(request.substr(line)) + "\r\n\r\n";
  const HttpRequestStep step = carrier.parser_.next(text, carrier.head());
  PEAL_ASSERT(step.event == HttpRequestEvent::kHead, "no request: {}", request);
  carrier.keep_head();
  carrier.start(has_body, carrier.head().find("Expect").has_value());
  carrier.advance();
  return asked;
}

inline void MemoryStreams::abandon_all(bool notify) {
  while (!carriers_.empty()) {
    MemoryCarrier& last = *carriers_.back();
    last.go([&] { last.abandon(notify); });
  }
}

inline HttpCarrier* MemoryStreams::carrier_of(uint64_t serial) {
  const auto found = std::ranges::find(carriers_, serial, [](MemoryCarrier* each) { return each->serial(); });
  return found == carriers_.end() ? nullptr : *found;
}

inline MemoryRequest::MemoryRequest(MemoryStreams& streams, const MemoryCarrier& carrier)
    : streams_(&streams), serial_(carrier.serial()), answer_(carrier.answer) {}

inline MemoryCarrier* MemoryRequest::carrier() const {
  return static_cast<MemoryCarrier*>(streams_->carrier_of(serial_));
}

inline void MemoryRequest::send(std::string_view piece) {
  MemoryCarrier* const to = carrier();
  if (to == nullptr) return;
  to->input_.emplace_back(piece);
  to->advance();
}

inline void MemoryRequest::end() {
  MemoryCarrier* const to = carrier();
  if (to == nullptr) return;
  to->input_ended_ = true;
  to->advance();
}

inline void MemoryRequest::reset() {
  MemoryCarrier* const to = carrier();
  if (to == nullptr) return;
  answer_->was_reset = true;
  to->go([to] { to->abandon(true); });
}

inline void MemoryRequest::run(HttpCallback task) {
  MemoryCarrier* const to = carrier();
  if (to == nullptr) return;
  to->call([&] { task(*to); });
  to->advance();
}

inline void MemoryRequest::read() {
  answer_->unread_bytes = 0;
  MemoryCarrier* const to = carrier();
  if (to == nullptr || !std::exchange(to->above_, false)) return;
  to->report_writable();
  if (MemoryCarrier* const still = carrier()) still->advance();
}

// MemoryStreamsTest: a test with a MemoryStreams on a simulated loop of its own.
class MemoryStreamsTest : public test::SimTest {
 protected:
  // To be called after the routes were added to router_.
  MemoryStreams& serve(const HttpServerOptions& options = {}) {
    return streams_.emplace(*loop_, std::move(router_), options);
  }
  void run() { world_.run_for(std::chrono::milliseconds(10)); }

  Router router_;
  std::vector<std::string> journal_;

 private:
  SimWorld world_{1, {}};
  SimLoop loop_{world_};
  std::optional<MemoryStreams> streams_;
};

}  // namespace peal::detail
