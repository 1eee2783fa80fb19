// SPDX-License-Identifier: BSD-3-Clause
// HttpFilesTest: an HttpServer, a folder of files that the test makes, and clients that send what the test tells them.
// All are on one loop and one thread. Suites run on every engine and the simulator.
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
  std::string body;  // the chunk framing is removed
  int status = 0;
  bool complete = false;

  // Returns the value of the first header field with this name, or "" if there is none. HTTP ignores upper and lower
  // case in names, but this function does not. A test must therefore write the name as the server writes it.
  std::string field(std::string_view name) const {
    const size_t at = head.find("\r\n" + std::string(name) + ": ");
    if (at == std::string::npos) return {};
    const size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
  bool has(std::string_view name) const { return head.contains("\r\n" + std::string(name) + ": "); }
};

// Parses an HTTP answer that a client has received. `of_head` must be true for the answer to a HEAD request, which has
// no body.
inline HttpAnswer read_answer(std::string_view bytes, bool of_head) {
  HttpAnswer answer;
  HttpResponseParser parser;
  parser.begin(of_head);
  parser.parse(bytes, [&](std::string_view piece) { answer.body += piece; });
  if (!parser.done()) parser.end();
  answer.complete = parser.done();
  // Takes the status from the first line of `bytes` as soon as the head is complete. So a test also sees the status of
  // an answer whose body was cut short.
  if (bytes.starts_with("HTTP/1.1 ") && bytes.contains("\r\n\r\n")) answer.status = std::atoi(bytes.data() + 9);
  answer.head = bytes.substr(0, std::min(bytes.find("\r\n\r\n") + 4, bytes.size()));
  return answer;
}

// A client that sends `request` and collects the bytes that it receives.
class HttpTalk {
 public:
  HttpTalk(Loop& loop, const SocketAddress& address, std::string request, bool pauses = false,
           const ConnectOptions& options = {})
      : request_(std::move(request)), pauses_(pauses), client_(loop, callbacks(), {.connect = options}) {
    EXPECT_TRUE(client_.connect(address));
  }

  const std::string& received() const { return received_; }
  bool ended() const { return ended_; }
  // Resumes reading. If `pauses` is true (in the constructor or by set_pauses()), the client pauses again after the
  // next piece that arrives.
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

  // Returns the folder that the server serves. It is inside folder(). A test can put files that must not be served into
  // folder().
  std::filesystem::path root() const { return folder_ / "root"; }
  std::filesystem::path folder() const { return folder_; }
  void write(const std::string& name, std::string_view bytes) {
    const std::filesystem::path path = root() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  // Adds `seconds` to the file's time of last modification.
  void age(const std::string& name, int seconds) {
    const auto path = root() / name;
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(seconds));
  }

  // Waits some milliseconds, until CLOCK_REALTIME_COARSE shows a later time than the beginning of this call. Before
  // Linux 6.13, the kernel takes a file's st_ctim from this clock, which advances only every few milliseconds. A second
  // write before the clock advances may therefore leave st_ctim unchanged. For this reason StaticFiles gives a file
  // only a weak ETag until the clock has advanced after the file's last change. After this wait, no file has a weak
  // ETag for this reason.
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
  // Sends a request on a new connection and returns the answer. `fields` are header lines, each with "\r\n" at its end.
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
