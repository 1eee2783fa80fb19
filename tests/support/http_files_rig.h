// SPDX-License-Identifier: BSD-3-Clause
// HttpFilesTest: an HttpServer, a folder of files made for the test, and clients that send what they are told, all on
// one loop and one thread, on every engine, the simulator too.
#pragma once

#include <sched.h>
#include <time.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <peal/http/files/static_files.h>
#include <peal/http/server/http_server.h>
#include <peal/net/client.h>
#include <peal/wire/http/http_response_parser.h>
#include <tests/support/engine_rig.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/stepped_loop.h>

namespace peal::test {

struct HttpAnswer {
  std::string head;  // the status line, the fields and the empty line
  std::string body;  // chunk framing taken off
  int status = 0;
  bool complete = false;

  // The value of the first field of that name, spelled so; "" where there is none.
  std::string field(std::string_view name) const {
    const size_t at = head.find("\r\n" + std::string(name) + ": ");
    if (at == std::string::npos) return {};
    const size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
  bool has(std::string_view name) const { return head.contains("\r\n" + std::string(name) + ": "); }
};

// What came on a connection, taken apart as a client would.
inline HttpAnswer read_answer(std::string_view bytes, bool of_head) {
  HttpAnswer answer;
  HttpResponseParser parser;
  parser.begin(of_head);
  parser.parse(bytes, [&](std::string_view piece) { answer.body += piece; });
  if (!parser.done()) parser.end();
  answer.complete = parser.done();
  // Also of one that was cut short.
  if (bytes.starts_with("HTTP/1.1 ") && bytes.contains("\r\n\r\n")) answer.status = std::atoi(bytes.data() + 9);
  answer.head = bytes.substr(0, std::min(bytes.find("\r\n\r\n") + 4, bytes.size()));
  return answer;
}

// A client that sends one text and writes down what comes.
class HttpTalk {
 public:
  HttpTalk(Loop& loop, const SocketAddress& address, std::string request, bool pauses = false,
           const ConnectOptions& options = {})
      : request_(std::move(request)), pauses_(pauses), client_(loop, callbacks(), {.connect = options}) {
    EXPECT_TRUE(client_.connect(address));
  }

  const std::string& received() const { return received_; }
  bool ended() const { return ended_; }
  // Where it pauses after each piece: one more piece.
  void resume() {
    handle_.run([](Connection& connection) { connection.resume(); });
  }
  void set_pauses(bool pauses) { pauses_ = pauses; }

 private:
  ConnectionCallbacks callbacks() {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [this](Connection& connection) {
      handle_ = connection.handle();
      connection.send(request_);
    };
    callbacks.on_message = [this](Connection& connection, Buffer& input) {
      received_ += input.view();
      input.clear();
      if (pauses_) connection.pause();
    };
    callbacks.on_close = [this](Connection&, CloseReason) { ended_ = true; };
    return callbacks;
  }

  std::string request_;
  std::string received_;
  ConnectionHandle handle_;
  bool pauses_;
  bool ended_ = false;
  Client client_;
};

class HttpFilesTest : public SteppedLoopTest {
 protected:
  void SetUp() override {
    SteppedLoopTest::SetUp();
    std::filesystem::create_directory(root());
  }
  void TearDown() override {
    server_.reset();
    SteppedLoopTest::TearDown();
  }

  // What is served; beside it is room for what must not be.
  std::filesystem::path root() const { return folder_ / "root"; }
  std::filesystem::path folder() const { return folder_; }
  void write(const std::string& name, std::string_view bytes) {
    const std::filesystem::path path = root() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  // The time of its last change, moved by so many seconds.
  void age(const std::string& name, int seconds) {
    const auto path = root() / name;
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(seconds));
  }

  // Waits until a further write to a file that is there already would show in its st_ctim: some milliseconds. Until
  // then it has a weak ETag.
  static void let_clock_tick() {
    const auto read = [](clockid_t clock) {
      timespec now{};
      ::clock_gettime(clock, &now);
      return std::pair(now.tv_sec, now.tv_nsec);
    };
    for (const auto begun = read(CLOCK_REALTIME); read(CLOCK_REALTIME_COARSE) <= begun;) ::sched_yield();
  }

  void serve(Router router, const HttpServerOptions& options = {}) {
    server_ = std::make_unique<HttpServer>(loop(), std::move(router), options);
    const Result<SocketAddress> bound = server_->listen("127.0.0.1:0");
    ASSERT_TRUE(bound.has_value()) << bound.error().message();
    address_ = *bound;
  }
  void serve_files(const StaticFilesOptions& options = {}) {
    Result<StaticFiles> files = StaticFiles::open(root().string(), options);
    ASSERT_TRUE(files.has_value()) << files.error().message();
    let_clock_tick();
    serve(Router(std::move(*files)));
  }
  HttpServer& server() { return *server_; }
  void drop_server() { server_.reset(); }
  const SocketAddress& address() const { return address_; }

  static std::string request(std::string_view method, std::string_view target, const std::string& fields) {
    std::string text(method);
    return text.append(" ").append(target).append(" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n") + fields + "\r\n";
  }
  // Asks on a connection of its own. `fields`: whole lines.
  HttpAnswer ask(std::string_view method, std::string_view target, const std::string& fields = {}) {
    HttpTalk talk(loop(), address_, request(method, target, fields));
    EXPECT_TRUE(run_until([&] { return talk.ended(); })) << method << ' ' << target;
    return read_answer(talk.received(), method == "HEAD");
  }
  HttpAnswer get(std::string_view target, const std::string& fields = {}) { return ask("GET", target, fields); }

  bool is_simulated() const { return below(GetParam()) == "sim"; }

 private:
  std::unique_ptr<HttpServer> server_;
  SocketAddress address_;
  const TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path("");
};

}  // namespace peal::test
