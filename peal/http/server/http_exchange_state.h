// SPDX-License-Identifier: BSD-3-Clause
// HttpExchangeState: the state that both halves of an exchange use: HttpExchange, on which the handler acts, and
// HttpCarrier, on which the connection acts. The state of the answer is not here: it is private to HttpExchange.
//
// HttpCarrier writes what arrives: the head, how far the request was read, the counts of the body's bytes. HttpExchange
// writes what the handler asks for: who gets the body, the fields of the answer, the extras. Either may end a call.
// The object belongs to the loop of its HttpShard, and only that thread uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <peal/engine/engine.h>
#include <peal/http/server/answer_fields.h>
#include <peal/wire/http/http_request_head.h>

namespace peal::detail {

class HttpShard;
struct HttpExtras;

class HttpExchangeState {
 public:
  HttpExchangeState(const HttpExchangeState&) = delete;
  HttpExchangeState& operator=(const HttpExchangeState&) = delete;

 protected:
  // Receiver of the request's body:
  // - kNobody: nobody has asked for the body yet;
  // - kPieces: a callback that is called with each piece;
  // - kWhole: a callback that is called with the whole body;
  // - kCoroutine: a coroutine;
  // - kDropped: the server discards the body.
  enum class BodyConsumer : uint8_t { kNobody, kPieces, kWhole, kCoroutine, kDropped };

  explicit HttpExchangeState(HttpShard& shard);
  ~HttpExchangeState();

  // Returns the extras, which the first call allocates, and marks them as used by this exchange.
  HttpExtras& extras();
  void reset_extras();

  // Resets the state for another request, possibly of another connection. The memory of the texts is kept.
  void reset_state() {
    if (has_extras_) [[unlikely]]
      reset_extras();
    fields_.clear();
    arrived_bytes_ = window_mark_ = drop_mark_ = 0;
    body_since_ = {};
    body_consumer_ = BodyConsumer::kNobody;
    carried_ = has_extras_ = head_read_ = request_read_ = continue_due_ = false;
    body_paused_ = wants_close_ = body_refused_ = answered_instead_ = late_ = endless_ = texts_grew_ = false;
  }

  HttpShard* const shard_;
  HttpRequestHead head_;
  std::unique_ptr<char[]> head_text_;  // the text that the views of head_ point into
  size_t head_room_ = 0;               // size of head_text_, in bytes
  std::string path_storage_;           // the normalized path, if it differs from the path as it was sent
  AnswerFields fields_;
  std::unique_ptr<HttpExtras> extras_;  // state that only some exchanges need; its memory is kept for the next one
  uint64_t serial_ = 0;                 // identifies the request; HttpExchangeHandle compares it
  TimePoint turn_began_{};              // begin of the turn that read the head; set only if late_
  uint32_t route_ = 0;                  // RouteTree::Route::number; 0: no route takes the request

  // Progress of the request's body.
  uint64_t arrived_bytes_ = 0;  // bytes of the body received so far
  uint64_t window_mark_ = 0;    // bytes that the connection had received when the current body window began
  uint64_t drop_mark_ = 0;      // value of arrived_bytes_ when the body began to be discarded
  TimePoint body_since_{};      // time at which the body was first wanted

  uint8_t calls_ = 0;  // calls of the user's code in progress; the exchange is not reused before they return
  BodyConsumer body_consumer_ = BodyConsumer::kNobody;
  bool carried_ : 1 = false;     // true if an answer can still be sent: the exchange was neither detached nor abandoned
  bool has_extras_ : 1 = false;  // true if this exchange uses extras_
  bool head_read_ : 1 = false;   // true if the head is complete and valid
  bool request_read_ : 1 = false;      // true if the request was read to its end, or has no body
  bool continue_due_ : 1 = false;      // true if the client waits for 100 (Continue)
  bool body_paused_ : 1 = false;       // true between pause_body() and resume_body()
  bool wants_close_ : 1 = false;       // true if the connection is to be closed after the answer
  bool body_refused_ : 1 = false;      // true if the rest of the request's body will not be read
  bool answered_instead_ : 1 = false;  // true if the server answered in the handler's place
  bool late_ : 1 = false;              // true if the handler returned before the answer was complete
  bool endless_ : 1 = false;           // true if the answer goes on until the client leaves or the server drains
  bool texts_grew_ : 1 = true;         // true if texts may have grown since HttpExchange::charge_ was set
};

}  // namespace peal::detail
