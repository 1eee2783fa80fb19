// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/http1_session.h>

#include <algorithm>

#include <peal/loop/loop.h>

namespace peal::detail {
namespace {

// True if the bytes begin a TLS handshake record (RFC 8446 5.1), which a client that speaks TLS sends first. No HTTP
// request begins with these bytes.
bool begins_tls(std::string_view bytes) { return bytes.starts_with("\x16\x03"); }

}  // namespace

Http1Session::~Http1Session() {
  abandon(false);
  shard_->leave(*this);
}

// Called only inside begin_batch() and end_batch(), so that received() goes on after the batch.
[[gnu::always_inline]] inline void Http1Session::start() {
  Http1Carrier& carrier = *carrier_;
  const HttpRequestHead& head = carrier.head();
  ++requests_;
  // After an answer to CONNECT the client may send bytes that are not HTTP. The connection is therefore closed after
  // the answer, unless the handler calls upgrade().
  if (head.method() == HttpMethod::kConnect) [[unlikely]]
    carrier.close_after_answer();
  const bool has_body = head.has_body();
  if (!has_body) carrier.parser().take_end();
  const bool complete = carrier.start(has_body, has_body && head.expects_continue());
  if (!complete) return;
  if (!upgrade_handler_ && carrier.keeps() && carrier.request_read()) [[likely]] {
    end_exchange();
  } else {
    advance();
  }
}

// Returns the front of an input that consists of several blocks, with a whole head if the input has one. Blocks are
// joined only if the head extends over several blocks; joining them for every head would be slow. The head may follow
// empty lines (RFC 9112 2.2).
static std::string_view joined_head(Buffer& input) {
  const std::string_view front = input.front();
  const bool whole = front.find("\r\n\r\n", front.find_first_not_of("\r\n")) != std::string_view::npos;
  return whole ? front : input.view(std::min<size_t>(input.size(), kMostHttpHeadBytes));
}

[[gnu::always_inline]] inline bool Http1Session::take_head(Buffer& input) {
  Http1Carrier& carrier = *carrier_;
  const std::string_view bytes = input.is_contiguous() ? input.front() : joined_head(input);
  const HttpRequestStep step = carrier.parser().next(bytes, carrier.head());
  if (step.event == HttpRequestEvent::kHead) [[likely]] {
    carrier.keep_head();
    input.consume(step.consumed);
    shard_->expects_more = !input.empty();
    start();
    return true;
  }
  if (step.event == HttpRequestEvent::kFailed) {
    ++shard_->stats().requests;
    if (begins_tls(bytes) && shard_->core().options().layer == nullptr) shard_->note_tls_hello(*connection_);
    refuse(http_status(carrier.parser().error()));
    input.clear();
    return false;
  }
  input.consume(step.consumed);
  if (carrier.parser().is_idle() && input.empty()) {
    end_exchange();
  } else if (wait != HttpWait::kHead) {
    shard_->wait(*this, HttpWait::kHead);
  }
  return false;
}

bool Http1Session::step(Buffer& input) {
  const bool in_body = is_in_body();
  if (input.empty() && !in_body) return false;
  if (above_ && !in_body) {
    pause_input();
    return false;
  }
  if (carrier_ == nullptr) carrier_ = &shard_->acquire(*this);
  Http1Carrier& carrier = *carrier_;
  if (!carrier.head_read()) return take_head(input);
  if (carrier.request_read()) {
    if (!held_) ++shard_->stats().pipelined;
    pause_input();
    return false;
  }
  if (carrier.wants_body()) return take_body(input);
  // The handler takes no further piece now, but the body may be complete: its end may have arrived together with its
  // last piece.
  if (carrier.body_taken() && carrier.parser().next({}, carrier.head()).event == HttpRequestEvent::kEnd) {
    carrier.note_request_read();
    return true;
  }
  if (!input.empty()) pause_input();
  return false;
}

void Http1Session::received(Buffer& input) {
  if (upgrade_handler_) return upgrade_handler_->on_data(*connection_, input);
  shard_->begin_batch(*this);
  while (is_open() && step(input) && (!input.empty() || carrier_ != nullptr)) {
  }
  send(output());
  shard_->end_batch();
  if (upgrade_handler_) {
    if (!input.empty() && connection_->is_open()) upgrade_handler_->on_data(*connection_, input);
    return;
  }
  await_next();
}

// Answers with an error and closes the connection. Later input of the client is not parsed.
void Http1Session::refuse(int status) {
  HttpStats& stats = shard_->stats();
  if (status == 413 || status == 414 || status == 431) {
    ++stats.too_large;
  } else if (status != 408) {
    ++stats.malformed;
  }
  if (carrier_->complete()) return end();
  if (carrier_->begun()) return connection_->abort();
  // The views of an incomplete head may point to text that has moved, or to the previous request, so they are reset.
  if (!carrier_->head_read()) carrier_->head().forget();
  carrier_->close_after_answer();
  carrier_->answer_instead(status);
}

bool Http1Session::take_body(Buffer& input) {
  Http1Carrier& carrier = *carrier_;
  const HttpRequestStep step = carrier.parser().next(input.front(), carrier.head());
  switch (step.event) {
    case HttpRequestEvent::kBody:
      if (carrier.body_arrived(step.body)) break;
      ++shard_->stats().undrained;
      end();
      return false;
    case HttpRequestEvent::kEnd:
      input.consume(step.consumed);
      carrier.body_ended();
      advance();
      return true;
    case HttpRequestEvent::kFailed:
      refuse(http_status(carrier.parser().error()));
      input.clear();
      return false;
    case HttpRequestEvent::kHead:
    case HttpRequestEvent::kNeedMore: input.consume(step.consumed); return step.consumed > 0;
  }
  input.consume(step.consumed);
  advance();
  return true;
}

void Http1Session::pause_input() {
  if (held_) return;
  held_ = true;
  connection_->pause();
}

void Http1Session::resume_input() {
  if (!held_) return;
  held_ = false;
  connection_->resume();
}

void Http1Session::advance() {
  Http1Carrier* carrier = carrier_;
  if (carrier != nullptr && carrier->in_call()) return;
  if (carrier != nullptr && carrier->complete()) {
    if (upgrade_handler_) {
      end_exchange();
      shard_->leave(*this);
      return resume_input();
    }
    if (!carrier->keeps()) {
      const HttpRequestHead& head = carrier->head();
      const bool last = carrier->request_read() && !head.keep_alive() && !head.has_body();
      end_exchange();
      return end(last);
    }
    if (carrier->request_read()) {
      end_exchange();
    } else if (!carrier->body_dropped()) {
      carrier->drop_body();
    }
  }
  if (shard_->batches(*this)) return;
  await_next();
  if (takes_input()) resume_input();
}

// A body that the handler wants is read even if output waits, because the client may read only after it has sent the
// body. A further request waits until the output of the earlier answers has fallen below the high-water mark.
bool Http1Session::takes_input() const {
  if (is_in_body()) return carrier_->wants_body();
  return !above_ && (carrier_ == nullptr || !carrier_->head_read());
}

void Http1Session::await_next() {
  if (!is_open()) return shard_->leave(*this);
  connection_->set_busy(carrier_ != nullptr);
  if (carrier_ == nullptr) {
    if (peer_ended_ && !held_) return end();
    const HttpWait between = requests_ == 0 ? HttpWait::kHead : HttpWait::kIdle;
    return shard_->wait(*this, draining_ ? HttpWait::kGrace : between);
  }
  if (!carrier_->head_read()) return;
  if (carrier_->request_read() || !carrier_->wants_body()) return await_answer();
  if (wait == HttpWait::kBody) return;
  carrier_->begin_body_window(connection_->arrived_bytes());
  shard_->wait(*this, HttpWait::kBody);
}

// While the answer has not begun, the session waits for the handler and not for the client, so only the handler has a
// deadline.
void Http1Session::await_answer() {
  if (carrier_->begun()) return shard_->leave(*this);
  if (wait != HttpWait::kAnswer) shard_->wait(*this, HttpWait::kAnswer);
}

// If `last` is true, the client has said that it sends no further request (RFC 9112 9.6). A connection with a short
// output is then closed as soon as the kernel has accepted the output. Otherwise close() watches the connection until
// the client has received the output. After a request with a body `last` is false, because some clients send an empty
// line after a body.
void Http1Session::end(bool last) {
  constexpr size_t kShortBytes = 64 * 1024;
  if (carrier_ != nullptr && carrier_->complete() && !carrier_->in_call()) end_exchange();
  shard_->leave(*this);
  send(output());
  if (last && connection_->queued_bytes() <= kShortBytes) {
    connection_->close_when_sent();
  } else {
    connection_->close();
  }
}

bool Http1Session::send(Buffer& bytes) {
  if (!bytes.holds_blocks()) return !above_;
  if (!connection_->send(std::move(bytes))) above_ = true;
  bytes = Buffer();  // send() leaves the buffer unchanged if the connection is closing
  return !above_;
}

// The bytes of a file do not count towards the connection's high-water mark. After a file that is larger than the mark,
// the next answer therefore waits until the kernel has accepted all output.
void Http1Session::send_file(FileRange range) {
  send(output());
  if (!connection_->is_open()) return;
  const bool large = range.bytes > shard_->core().options().high_water_bytes;
  connection_->send_file(std::move(range));
  if (!large) return;
  above_ = true;
  connection_->expect_output();
  connection_->report_drained();
}

void Http1Session::writable() {
  if (upgrade_handler_) return upgrade_handler_->on_writable(*connection_);
  above_ = !connection_->can_send();  // if it cannot send, the connection is about to end and takes no further request
  if (carrier_ != nullptr) carrier_->report_writable();
  advance();
}

}  // namespace peal::detail
