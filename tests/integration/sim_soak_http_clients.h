// SPDX-License-Identifier: BSD-3-Clause
// The well-behaved clients of sim_soak_test.cc that speak HTTP and WebSocket. They run on the test's thread.
#pragma once

#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <tests/integration/sim_soak_clients.h>

namespace peal::test {

// Sends one to five HTTP requests, either one or two at a time. served() is false if HttpClient has sent a request
// again because a kept connection was dead. The server must not cause such a repetition: the client drops an idle
// connection after 1 s, and the server keeps an idle connection for at least 3 s.
class GoodHttp final : public GoodClient {
 public:
  explicit GoodHttp(SoakServers& servers)
      : GoodClient(servers.world),
        url_("http://" + servers.http_at.to_string()),
        left_(1 + world_.pick(5)),
        at_once_(1 + world_.pick(2)),
        client_(std::make_unique<HttpClient>(loop_, options(at_once_))) {
    for (size_t i = at_once_; i > 0; --i) ask();
  }
  bool over() const override { return left_ == 0 && waiting_ == 0; }
  bool served() const override { return over() && failed_.empty() && client_ && client_->stats().repeated == 0; }
  std::string complaint() const override {
    return fmt::format("HTTP: {}", failed_.empty() ? "a request was repeated" : failed_);
  }

 private:
  static HttpClientOptions options(size_t connections) {
    HttpClientOptions options;
    options.most_per_origin = connections;
    options.idle_timeout = seconds(1);
    options.client.connection.min_read_bytes = options.client.connection.min_write_bytes = 0;
    options.deadlines.queue = options.deadlines.first_byte = options.deadlines.total = std::chrono::hours(1);
    return options;
  }
  void ask() {
    if (left_ == 0) return;
    --left_;
    const size_t size = world_.pick(4) == 0 ? world_.pick(60'000) : world_.pick(2'000);
    static constexpr std::string_view kPaths[] = {"/bytes/", "/stream/", "/sleeper/", "/later/"};
    const size_t which = world_.pick(7);
    HttpClientRequest request;
    std::string expected = soak_bytes(size);
    if (which < 4) {
      request.url = url_ + std::string(kPaths[which]) + std::to_string(size);
    } else if (which == 4) {
      request.url = url_ + "/file";
      expected.clear();
      for (size_t at = 0; at < kStreamFileBytes; ++at) expected += byte_of(0, at);
    } else {
      request = HttpClientRequest("POST", url_ + (which == 5 ? "/whole" : "/pieces"), expected);
    }
    const std::string what = request.url.substr(url_.size());
    const auto asked = client_->fetch(std::move(request), [this, what, expected](Result<HttpResponse> response) {
      --waiting_;
      heard(what, expected, response);
    });
    if (asked) {
      ++waiting_;
    } else {
      failed_ = "a request could not be started: " + asked.error().message();
    }
  }
  void heard(const std::string& what, const std::string& expected, const Result<HttpResponse>& response) {
    if (!response) {
      failed_ = fmt::format("{}: {}", what, response.error().message());
    } else if (response->status() == 200) {
      world_.check(response->body == expected, "HTTP: an answer has a wrong body: " + what);
    } else {
      failed_ = fmt::format("{}: status {}", what, response->status());
    }
    soon([this] { ask(); });
  }
  void give_up() override {
    failed_ = fmt::format("{} answers did not come", waiting_);
    left_ = waiting_ = 0;
    client_.reset();
  }

  const std::string url_;
  size_t left_;  // requests that are not sent yet
  const size_t at_once_;
  size_t waiting_ = 0;
  std::string failed_;
  std::unique_ptr<HttpClient> client_;
};

// Sends lines to the chat room. After each line, waits until the room has sent this line back. Checks that the lines of
// each member arrive in order.
class GoodChatter final : public GoodClient {
 public:
  GoodChatter(SoakServers& servers, uint8_t number)
      : GoodClient(servers.world),
        number_(number),
        total_(1 + world_.pick(12)),
        client_(loop_, callbacks(), options(world_), [this](const WebSocketFailure& failure) {
          over_ = true;
          why_ = failure.why;
        }) {
    world_.check(client_.connect("ws://" + servers.http_at.to_string() + "/chat").has_value(),
                 "a chatter cannot begin to connect");
  }
  bool over() const override { return over_; }
  // True if all lines came back and the close code was 1000. Also true if the close code is kTryAgainLater, because the
  // room may close any member that reads too slowly.
  bool served() const override { return (heard_ == total_ && code_ == 1000) || code_ == WebSocketCode::kTryAgainLater; }
  std::string complaint() const override {
    return fmt::format("chat: {} of {} lines came back, ended with {} {}", heard_, total_, code_, why_);
  }

 private:
  static WebSocketClientOptions options(SoakWorld& world) {
    WebSocketClientOptions options;
    options.socket.ping_interval = {};
    options.socket.close_timeout = std::chrono::minutes(1);
    options.socket.deflate.enabled = world.pick(2) == 0;
    options.handshake_timeout = std::chrono::minutes(30);
    options.client.connection.min_write_bytes = 0;
    return options;
  }
  // Returns line number `count` of this client: "#", the client's number, `count`, and some more bytes.
  std::string line(size_t count) const { return fmt::format("#{} {} {}", number_, count, soak_bytes(count * 97)); }
  WebSocketCallbacks callbacks() {
    WebSocketCallbacks callbacks;
    callbacks.on_open = [this](WebSocket& socket) {
      handle_ = socket.handle();
      socket.send_text(line(0));
    };
    callbacks.on_message = [this](WebSocket& socket, WebSocketKind, std::string_view said) {
      if (said.starts_with('#')) follow(said);
      if (said != line(heard_)) return;
      if (++heard_ == total_) return socket.close();
      soon([this] { handle_.send_text(line(heard_)); });
    };
    callbacks.on_close = [this](WebSocket&, uint16_t code, std::string_view why) {
      world_.check(!std::exchange(over_, true), "on_close of a chatter was called twice");
      code_ = code;
      why_ = why;
    };
    return callbacks;
  }
  // Checks that the lines of each member arrive without gaps and without repetitions. The first line of a member may
  // have any number, because this client may have joined later. Ignores a line without numbers, and a line whose member
  // number is above kMostVisitors. Such lines can come from a misbehaving client whose random bytes begin with '#'.
  void follow(std::string_view said) {
    size_t speaker = 0;
    size_t count = 0;
    const auto [after, error] = std::from_chars(said.data() + 1, said.data() + said.size(), speaker);
    if (error != std::errc() || after + 1 >= said.data() + said.size() || speaker > kMostVisitors) return;
    if (std::from_chars(after + 1, said.data() + said.size(), count).ec != std::errc()) return;
    const auto [place, is_new] = next_.try_emplace(speaker, count);
    world_.check(is_new || place->second == count, "chat: a line is missing, or came twice");
    place->second = count + 1;
  }
  void give_up() override { handle_.abort(); }

  const uint8_t number_;
  const size_t total_;
  size_t heard_ = 0;
  std::map<size_t, size_t> next_;
  WebSocketHandle handle_;
  uint16_t code_ = 0;
  std::string why_;
  bool over_ = false;
  WebSocketClient client_;
};

}  // namespace peal::test
