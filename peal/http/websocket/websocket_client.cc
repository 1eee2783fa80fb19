// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/websocket/websocket_client.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <peal/base/thread/run_claim.h>
#include <peal/http/websocket/parts/websocket_shared.h>
#include <peal/loop/loop.h>
#include <peal/net/backoff.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/uri/http_url.h>
#include <peal/wire/websocket/websocket_handshake.h>

namespace peal {
namespace {

// The most bytes of the answer to a handshake, including the interim answers before it. A usual answer is a few lines.
constexpr size_t kMostAnswerBytes = 16 * 1024;

// Returns true for a status that says that the server, or a server behind it, is unavailable for a while (RFC 9110
// 15.6). The client may then connect again.
bool is_temporary_status(int status) { return status == 502 || status == 503 || status == 504; }

// Returns true for the status of an interim answer, which another answer follows (RFC 9110 15.2).
bool is_interim(int status) { return status >= 100 && status < 200 && status != 101; }

}  // namespace

// The state of a WebSocketClient. A run begins with connect() and lasts until its last attempt or socket has ended.
//
// Only claim() and set_clients() may be called on any thread; the mutex guards clients_. All other functions are called
// on the loop.
//
// The two Clients only connect; State decides when to reconnect. A Client counts every open connection as a success,
// but for State an attempt succeeds only when the handshake is done.
class WebSocketClient::State : public std::enable_shared_from_this<State> {
 public:
  class Link;

  // The arguments of one connect() call.
  struct Order {
    uint64_t run = 0;  // the number of the run in claim_
    bool is_wss = false;
    HostPort place;
    WebSocketRequest request;  // complete except for the key, which each connection draws anew
  };

  State(Loop& loop, WebSocketCallbacks callbacks, const WebSocketClientOptions& its_options, Failed on_failed)
      : core(std::make_shared<detail::WebSocketCore>(std::move(callbacks), its_options.socket)),
        options(its_options),
        loop_(loop),
        on_failed_(std::move(on_failed)),
        backoff_(its_options.client.retry.first_delay, its_options.client.retry.longest_delay,
                 its_options.client.retry.seed) {}

  static std::unique_ptr<Client> make_client(const std::shared_ptr<State>& state, Loop& loop, const StreamLayer* layer);
  static ConnectionCallbacks connection_callbacks(const std::shared_ptr<State>& state);

  // claim() and set_clients() may be called on any thread.
  detail::RunClaim& claim() { return claim_; }
  void set_clients(Client* ws, Client* wss) {
    const std::lock_guard lock(mutex_);
    clients_[0] = ws;
    clients_[1] = wss;
  }

  // Posts the beginning of a run. The run does not begin if stop() is called before the loop executes the posted task.
  void begin(Order order);
  void stop();
  // True if a run has begun and has neither ended nor been stopped.
  bool is_wanted() const { return wanted_; }
  const WebSocketRequest& request() const { return order_.request; }
  void link_opened() { ++links_; }
  void link_closed();
  void set_current(WebSocketHandle handle) { current_ = std::move(handle); }

  // Calls on_failed for a failed handshake. If `again` is true and the options ask for reconnecting, starts a timer for
  // the next attempt. Otherwise ends the run, after which connect() may be called again.
  void handshake_failed(WebSocketFailure failure, bool again);

  // Calls on_failed for an attempt to connect that Client reports as failed. Ends the run if Client does not try again.
  void connect_failed(const WebSocketFailure& failure);

  // Called when an open socket has ended. Returns true if the caller has to reconnect. Otherwise returns false and ends
  // the run, unless stop() has ended it before; connect() may then be called again. `may_reconnect` is false if this
  // side ended the socket. `open_for` is how long the connection was open.
  bool socket_ended(bool may_reconnect, Duration open_for);
  void connect_after_backoff() { connect_after(backoff_.next()); }

  const std::shared_ptr<detail::WebSocketCore> core;
  const WebSocketClientOptions options;

 private:
  template <class Task>
  void post(Task task) {
    loop_.mailbox()->insist([self = shared_from_this(), task = std::move(task)]() mutable { task(); });
  }
  void start_connecting();
  void connect_after(Duration delay);
  void end_run() {
    wanted_ = false;
    claim_.end(order_.run);
  }
  void call_on_failed(const WebSocketFailure& failure) {
    if (on_failed_) on_failed_(failure);
  }
  // Calls `task` with the Client of this run, unless the WebSocketClient has been destroyed.
  template <class Task>
  void with_client(Task task) {
    const std::lock_guard lock(mutex_);
    if (Client* const client = clients_[order_.is_wss ? 1 : 0]; client != nullptr) task(*client);
  }

  Loop& loop_;
  Failed on_failed_;
  Order order_;
  detail::Backoff backoff_;
  WebSocketHandle current_;       // the current socket; null if there is none
  TimerId timer_;                 // runs until the next attempt
  size_t links_ = 0;              // number of connections, including one that is closing
  bool wanted_ = false;           // see is_wanted()
  bool waits_for_links_ = false;  // true if connecting starts when links_ has become 0
  detail::RunClaim claim_;
  std::mutex mutex_;
  Client* clients_[2] = {};  // for ws and for wss; null after the WebSocketClient is destroyed; guarded by mutex_
};

// Begins the run in a task of its own. An earlier stop() may have made the Client post a task that ends connecting.
// That task has to run first, because otherwise it would stop this run.
void WebSocketClient::State::begin(Order order) {
  post([this, order = std::move(order)]() mutable {
    if (!claim_.holds(order.run)) return;  // stopped meanwhile
    order_ = std::move(order);
    wanted_ = true;
    backoff_.reset();
    if (options.client.retry.seed == 0) backoff_.seed(loop_.engine().random_seed());
    start_connecting();
  });
}

void WebSocketClient::State::start_connecting() {
  waits_for_links_ = links_ > 0;
  if (waits_for_links_) return;
  Result<void> connecting;
  with_client([&](Client& client) { connecting = client.connect(order_.place); });
  if (!connecting) connect_failed({.error = connecting.error(), .why = connecting.error().message()});
}

void WebSocketClient::State::stop() {
  wanted_ = false;
  waits_for_links_ = false;
  loop_.cancel(std::exchange(timer_, {}));
  if (current_) {
    current_.close();
  } else {
    with_client([](Client& client) { client.stop(); });
  }
}

// Called inside on_close of a connection. The Client accepts the next connect() only after on_close has returned, so
// start_connecting() is posted.
void WebSocketClient::State::link_closed() {
  --links_;
  post([this] {
    if (links_ == 0 && std::exchange(waits_for_links_, false)) start_connecting();
  });
}

void WebSocketClient::State::connect_after(Duration delay) {
  timer_ = loop_.after(delay, [weak = weak_from_this()] {
    const auto state = weak.lock();
    if (state == nullptr) return;
    state->timer_ = {};
    if (state->wanted_) state->start_connecting();
  });
}

void WebSocketClient::State::handshake_failed(WebSocketFailure failure, bool again) {
  if (!wanted_ || waits_for_links_) return;  // this connection belongs to a run that was stopped
  if (again && options.client.retry.reconnect) {
    failure.next_attempt_in = backoff_.next();
    connect_after(failure.next_attempt_in);
  } else {
    end_run();
  }
  call_on_failed(failure);
}

void WebSocketClient::State::connect_failed(const WebSocketFailure& failure) {
  if (failure.next_attempt_in == Client::kNoRetry) end_run();
  call_on_failed(failure);
}

bool WebSocketClient::State::socket_ended(bool may_reconnect, Duration open_for) {
  current_ = {};
  if (!wanted_ || waits_for_links_) return false;
  if (may_reconnect && options.client.retry.reconnect) {
    backoff_.lost_after(open_for);
    return true;
  }
  end_run();
  return false;
}

// One connection of the client: performs the handshake and then holds the WebSocket. The connection owns this object as
// its context.
class WebSocketClient::State::Link {
 public:
  Link(State& state, Connection& connection)
      : state_(state), connection_(connection), request_(state.request()), connected_at_(connection.loop().now()) {
    state_.link_opened();
    if (!state_.is_wanted()) {
      connection.close();
      return;
    }
    request_.key = state.core->loop_state(connection.loop()).keys.handshake_key();
    // compose_websocket_request() cannot fail here, because connect() has composed the same request without the key
    // before.
    connection.send(*compose_websocket_request(request_));
    timer_ = connection.loop().after(state.options.handshake_timeout, [this] {
      timer_ = {};
      fail_handshake(std::make_error_code(std::errc::timed_out),
                     {.status = 0, .why = "the server did not answer in time"});
    });
  }
  ~Link() { connection_.loop().cancel(timer_); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void received(Buffer& input) {
    while (!driver_) {
      if (handshake_failed_) return input.clear();
      if (!read_answer(input)) return;
    }
    if (!input.empty()) driver_->received(input);
  }
  void writable() {
    if (driver_) driver_->writable();
  }
  void peer_ended() {
    if (driver_) return driver_->peer_ended();
    connection_.shutdown_send();
  }
  void closed(CloseReason reason) {
    connection_.loop().cancel(std::exchange(timer_, {}));
    const bool here = reason == CloseReason::kLocal || reason == CloseReason::kLoopStopped;
    if (driver_) return end_socket(reason, here);
    if (std::exchange(handshake_failed_, true)) return;
    std::error_code error = connection_.error();
    if (!error) error = reason == CloseReason::kLoopStopped ? Trouble::kLoopStopped : errno_code(ECONNRESET);
    state_.handshake_failed({.error = error, .why = std::string(to_string(reason))}, !here);
  }

 private:
  // Decides whether to reconnect, and calls on_close. The client may reconnect unless this side ended the socket. If
  // this side reset the connection because the peer missed a deadline, the client may reconnect, too. `here` is true if
  // this side closed the connection or the loop has stopped.
  void end_socket(CloseReason reason, bool here) {
    const bool may_reconnect = (!here && !carrier_.ended_here()) || driver_->cut_off();
    // socket_ended() is called before on_close, because on_close may throw.
    if (state_.socket_ended(may_reconnect, connection_.loop().now() - connected_at_)) state_.connect_after_backoff();
    driver_->closed(reason);
  }
  // Reads one answer to the handshake. Returns true if the answer was interim or accepted the handshake. Returns false
  // if the answer is incomplete or the handshake has failed.
  bool read_answer(Buffer& input) {
    const std::string_view bytes = input.view();
    const size_t end = bytes.substr(0, kMostAnswerBytes - answer_bytes_).find("\r\n\r\n");
    if (end == std::string_view::npos) {
      if (bytes.size() > kMostAnswerBytes - answer_bytes_) {
        fail_handshake(errno_code(EPROTO), {.status = 0, .why = "the answer is too long"});
      }
      return false;
    }
    auto agreed = read_websocket_response(bytes.substr(0, end + 4), request_);
    input.consume(end + 4);
    answer_bytes_ += end + 4;
    if (!agreed) {
      if (is_interim(agreed.error().status)) return true;  // the deadline is not extended
      fail_handshake(errno_code(EPROTO), agreed.error());
      return false;
    }
    connection_.loop().cancel(std::exchange(timer_, {}));
    driver_.emplace(state_.core, carrier_, WebSocketRole::kClient, std::move(agreed->protocol), agreed->deflate);
    state_.set_current(driver_->handle());
    driver_->opened();
    return true;
  }
  // Ends the connection and reports the failure to the State. Only the first call has an effect.
  void fail_handshake(std::error_code error, const WebSocketRefusal& refusal) {
    if (std::exchange(handshake_failed_, true)) return;
    const bool is_silent = error == std::errc::timed_out;
    if (is_silent) {
      connection_.abort();  // a silent server would not answer a FIN either
    } else {
      connection_.close();
    }
    state_.handshake_failed({.error = error, .status = refusal.status, .why = refusal.why},
                            is_silent || is_temporary_status(refusal.status));
  }

  State& state_;
  Connection& connection_;
  detail::WebSocketConnection carrier_{connection_};
  WebSocketRequest request_;
  std::optional<detail::WebSocketDriver> driver_;  // set when the handshake is done
  const TimePoint connected_at_;
  size_t answer_bytes_ = 0;  // total size of the interim answers
  TimerId timer_;
  bool handshake_failed_ = false;  // true if the failure was reported to state_
};

ConnectionCallbacks WebSocketClient::State::connection_callbacks(const std::shared_ptr<State>& state) {
  const auto link = [](Connection& connection) -> Link& { return connection.context<Link>(); };
  ConnectionCallbacks callbacks;
  callbacks.on_open = [state](Connection& connection) {
    connection.emplace_context<Link>(*state, connection);
    connection.keep_context();
  };
  callbacks.on_message = [link](Connection& connection, Buffer& input) { link(connection).received(input); };
  callbacks.on_writable = [link](Connection& connection) { link(connection).writable(); };
  callbacks.on_peer_end = [link](Connection& connection) { link(connection).peer_ended(); };
  callbacks.on_close = [state, link](Connection& connection, CloseReason reason) {
    // A destructor calls link_closed(), so that it is called even if the application's on_close throws.
    struct LinkCloser {
      State& state;
      ~LinkCloser() { state.link_closed(); }
    } const closer{*state};
    link(connection).closed(reason);
  };
  return callbacks;
}

std::unique_ptr<Client> WebSocketClient::State::make_client(const std::shared_ptr<State>& state, Loop& loop,
                                                            const StreamLayer* layer) {
  ClientOptions options = state->options.client;
  options.connection.layer = layer;
  options.retry.reconnect = false;
  return std::make_unique<Client>(
      loop, connection_callbacks(state), options, [state](std::error_code error, Duration next_attempt_in) {
        state->connect_failed({.error = error, .why = error.message(), .next_attempt_in = next_attempt_in});
      });
}

WebSocketClient::WebSocketClient(Loop& loop, WebSocketCallbacks callbacks, const WebSocketClientOptions& options,
                                 Failed on_failed)
    : mailbox_(loop.mailbox()),
      state_(std::make_shared<State>(loop, std::move(callbacks), options, std::move(on_failed))),
      client_(State::make_client(state_, loop, options.client.connection.layer)),
      client_of_wss_(options.layer == nullptr ? nullptr : State::make_client(state_, loop, options.layer)) {
  state_->set_clients(client_.get(), client_of_wss_.get());
}

WebSocketClient::~WebSocketClient() { state_->set_clients(nullptr, nullptr); }

Result<void> WebSocketClient::connect(std::string_view url) {
  const size_t scheme_end = std::min(url.find(':'), url.size());
  const bool is_wss = same_field_name(url.substr(0, scheme_end), "wss");  // in any case (RFC 3986 3.1)
  if (!is_wss && !same_field_name(url.substr(0, scheme_end), "ws")) return fail(EINVAL);
  if (url.contains('#')) return fail(EINVAL);  // RFC 6455 3
  const auto parsed = HttpUrl::parse(fmt::format("{}{}", is_wss ? "https" : "http", url.substr(scheme_end)));
  if (!parsed) return fail(EINVAL);
  if (is_wss && client_of_wss_ == nullptr) return fail(EPROTONOSUPPORT);
  State::Order order{.run = 0,
                     .is_wss = is_wss,
                     .place = HostPort(parsed->host, parsed->port),
                     .request = {.target = parsed->target,
                                 .host = parsed->authority(),
                                 .key = {},
                                 .origin = state_->options.origin,
                                 .protocols = state_->options.protocols,
                                 .deflate = state_->options.socket.deflate,
                                 .fields = state_->options.fields}};
  if (!compose_websocket_request(order.request)) return fail(EINVAL);
  const uint64_t run = state_->claim().take();
  if (run == 0) return fail(EALREADY);
  order.run = run;
  if (mailbox_->insist([state = state_, order = std::move(order)]() mutable { state->begin(std::move(order)); })) {
    return {};
  }
  state_->claim().end(run);
  return fail(Trouble::kLoopStopped);
}

void WebSocketClient::stop() {
  state_->claim().end();
  if (mailbox_->here() != nullptr) return state_->stop();
  mailbox_->insist([state = state_] { state->stop(); });
}

}  // namespace peal
