// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/websocket/websocket_client.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <peal/http/websocket/parts/websocket_shared.h>
#include <peal/loop/loop.h>
#include <peal/wire/uri/http_url.h>
#include <peal/wire/websocket/websocket_handshake.h>

namespace peal {
namespace {

// An answer to a handshake is a few lines.
constexpr size_t kMostAnswerBytes = 16 * 1024;

}  // namespace

// What is called on the loop; the client's own threads touch `started` and, under the mutex, `client`.
struct WebSocketClient::State {
  class Link;

  State(WebSocketCallbacks callbacks, const WebSocketClientOptions& its_options, Failed its_on_failed)
      : core(std::make_shared<detail::WebSocketCore>(std::move(callbacks), its_options.socket)),
        options(its_options),
        on_failed(std::move(its_on_failed)) {}

  static std::unique_ptr<Client> make_client(const std::shared_ptr<State>& state, Loop& loop, const StreamLayer* layer);
  static ConnectionCallbacks connection_callbacks(const std::shared_ptr<State>& state);
  static void try_again(const std::shared_ptr<State>& state, Loop& loop);
  void fail(const WebSocketFailure& failure) {
    if (on_failed) on_failed(failure);
  }
  // Calls `task` with the client, if it still is there.
  template <class Task>
  void with_client(Task task) {
    const std::lock_guard lock(mutex);
    if (client != nullptr) task(*client);
  }

  const std::shared_ptr<detail::WebSocketCore> core;
  const WebSocketClientOptions options;
  Failed on_failed;
  std::string address;       // set before the first connection
  WebSocketRequest request;  // the same, but for the key
  WebSocketHandle current;   // the open socket
  bool stopped = false;
  std::atomic<bool> started = false;
  std::mutex mutex;
  Client* client = nullptr;  // from connect() on
};

// One connection: its handshake, then its socket.
class WebSocketClient::State::Link {
 public:
  Link(State& state, Connection& connection) : state_(state), connection_(connection) {
    request_.key = state.core->tools(connection.loop()).keys.handshake_key();
    // The fields were looked at by connect().
    connection.send(*compose_websocket_request(request_));
    timer_ = connection.loop().after(state.options.handshake_timeout, [this] {
      timer_ = {};
      refuse(std::make_error_code(std::errc::timed_out), {.status = 0, .why = "the server did not answer in time"});
    });
  }
  ~Link() { connection_.loop().cancel(timer_); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void received(Buffer& input) {
    if (!side_ && !take_answer(input)) return;
    if (!input.empty()) side_->received(input);
  }
  void writable() {
    if (side_) side_->writable();
  }
  void peer_ended() {
    if (side_) return side_->peer_ended();
    connection_.shutdown_send();
  }
  // True when it is to be connected anew.
  bool closed(CloseReason reason) {
    connection_.loop().cancel(std::exchange(timer_, {}));
    if (!side_) {
      if (!std::exchange(refused_, true)) {
        const std::error_code error = connection_.error();
        state_.fail({.error = error ? error : errno_code(ECONNRESET), .why = std::string(to_string(reason))});
      }
      return false;
    }
    state_.current = {};
    side_->closed(reason);
    return side_->lost();
  }

 private:
  // True once the handshake is done.
  bool take_answer(Buffer& input) {
    const std::string_view bytes = input.view();
    const size_t end = bytes.substr(0, kMostAnswerBytes).find("\r\n\r\n");
    if (end == std::string_view::npos) {
      if (bytes.size() > kMostAnswerBytes) refuse(errno_code(EPROTO), {.status = 0, .why = "the answer is too long"});
      return false;
    }
    auto agreed = read_websocket_response(bytes.substr(0, end + 4), request_);
    input.consume(end + 4);
    if (!agreed) {
      refuse(errno_code(EPROTO), agreed.error());
      return false;
    }
    connection_.loop().cancel(std::exchange(timer_, {}));
    side_.emplace(state_.core, carrier_, WebSocketRole::kClient, std::move(agreed->protocol), agreed->deflate);
    state_.current = side_->handle();
    side_->opened();
    return true;
  }
  void refuse(std::error_code error, const WebSocketRefusal& refusal) {
    if (std::exchange(refused_, true)) return;
    connection_.close();
    state_.fail({.error = error, .status = refusal.status, .why = refusal.why});
  }

  State& state_;
  Connection& connection_;
  detail::WebSocketConnection carrier_{connection_};
  WebSocketRequest request_ = state_.request;
  std::optional<detail::WebSocketDriver> side_;  // after the handshake
  TimerId timer_;
  bool refused_ = false;  // and told
};

ConnectionCallbacks WebSocketClient::State::connection_callbacks(const std::shared_ptr<State>& state) {
  const auto link = [](Connection& connection) -> Link& { return connection.context<Link>(); };
  ConnectionCallbacks callbacks;
  callbacks.on_open = [state](Connection& connection) {
    connection.emplace_context<Link>(*state, connection);
    connection.keep_context();
    if (state->stopped) connection.close();
  };
  callbacks.on_message = [link](Connection& connection, Buffer& input) { link(connection).received(input); };
  callbacks.on_writable = [link](Connection& connection) { link(connection).writable(); };
  callbacks.on_peer_end = [link](Connection& connection) { link(connection).peer_ended(); };
  callbacks.on_close = [state, link](Connection& connection, CloseReason reason) {
    const bool lost = link(connection).closed(reason);
    if (state->stopped) {
      state->with_client([](Client& client) { client.stop(); });
    } else if (lost && state->options.client.retry.reconnect) {
      try_again(state, connection.loop());
    }
  };
  return callbacks;
}

// Of a connection that was cut off here, Client thinks that its end was wanted.
void WebSocketClient::State::try_again(const std::shared_ptr<State>& state, Loop& loop) {
  loop.post([state] {
    Result<void> connecting;
    if (!state->stopped) state->with_client([&](Client& client) { connecting = client.connect(state->address); });
    if (!connecting) state->fail({.error = connecting.error(), .why = connecting.error().message()});
  });
}

std::unique_ptr<Client> WebSocketClient::State::make_client(const std::shared_ptr<State>& state, Loop& loop,
                                                            const StreamLayer* layer) {
  ClientOptions options = state->options.client;
  options.connection.layer = layer;
  return std::make_unique<Client>(
      loop, connection_callbacks(state), options, [state](std::error_code error, Duration next_attempt_in) {
        state->fail({.error = error, .why = error.message(), .next_attempt_in = next_attempt_in});
      });
}

WebSocketClient::WebSocketClient(Loop& loop, WebSocketCallbacks callbacks, const WebSocketClientOptions& options,
                                 Failed on_failed)
    : mailbox_(loop.mailbox()),
      state_(std::make_shared<State>(std::move(callbacks), options, std::move(on_failed))),
      client_(State::make_client(state_, loop, options.client.connection.layer)),
      client_of_wss_(options.layer == nullptr ? nullptr : State::make_client(state_, loop, options.layer)) {}

WebSocketClient::~WebSocketClient() {
  const std::lock_guard lock(state_->mutex);
  state_->client = nullptr;
}

Result<void> WebSocketClient::connect(std::string_view url) {
  const bool is_wss = url.starts_with("wss://");
  if (!is_wss && !url.starts_with("ws://")) return fail(EINVAL);
  const auto parsed = HttpUrl::parse(fmt::format("http{}", url.substr(2)));
  if (!parsed) return fail(EINVAL);
  Client* const client = is_wss ? client_of_wss_.get() : client_.get();
  if (client == nullptr) return fail(EPROTONOSUPPORT);
  WebSocketRequest request{.target = parsed->target,
                           .host = parsed->authority(),
                           .key = {},
                           .origin = state_->options.origin,
                           .protocols = state_->options.protocols,
                           .deflate = state_->options.socket.deflate,
                           .fields = state_->options.fields};
  if (!compose_websocket_request(request)) return fail(EINVAL);
  if (state_->started.exchange(true)) return fail(EALREADY);
  const bool is_ipv6 = parsed->host.contains(':');
  state_->address = fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", parsed->host, is_ipv6 ? "]" : "", parsed->port);
  state_->request = std::move(request);
  {
    const std::lock_guard lock(state_->mutex);
    state_->client = client;
  }
  return client->connect(state_->address);
}

void WebSocketClient::stop() {
  mailbox_->insist([state = state_] {
    state->stopped = true;
    if (state->current) {
      state->current.close();
    } else {
      state->with_client([](Client& client) { client.stop(); });
    }
  });
}

}  // namespace peal
