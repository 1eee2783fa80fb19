// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/forms/multipart_form.h>

#include <filesystem>
#include <iterator>
#include <memory>

#include <gmock/gmock.h>

#include <peal/base/memory/when_released.h>
#include <peal/http/forms/parts/multipart_text_test.h>
#include <peal/loop/loop_group.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using test::kMultipartEnd;
using test::multipart_file;
using test::multipart_head;
using test::multipart_part;
using test::multipart_post;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class MultipartFormTest : public test::HttpTest {
 protected:
  void SetUp() override {
    HttpTest::SetUp();
    std::filesystem::create_directory(folder_);
  }
  Router routes() {
    Router router;
    router.get("/", [](HttpExchange& exchange) { exchange.respond(200, "", "plain"); });
    router.post("/echo", [this](HttpExchange& exchange) { return echo(exchange); }, kLarge);
    router.post("/count", [this](HttpExchange& exchange) { return count(exchange); }, kLarge);
    router.post("/save", [this](HttpExchange& exchange) { return save(exchange); }, kLarge);
    router.post("/small", [this](HttpExchange& exchange) { return save(exchange); });
    return router;
  }
  // Answers each part: [name|file name|type|data].
  Task<> echo(HttpExchange& exchange) {
    MultipartForm form(exchange, {.parts = 5, .head_bytes = 200});
    std::string all = "form:";
    for (;;) {
      const Result<FormPart*> part = co_await form.next();
      error_ = test::error_of(part);
      if (!part) co_return;
      if (*part == nullptr) break;
      const Result<std::string> text = co_await (*part)->read_all(1000);
      error_ = test::error_of(text);
      if (!text) {
        EXPECT_EQ(test::error_of(co_await form.next()), error_);
        co_return;
      }
      all +=
          fmt::format("[{}|{}|{}|{}]", (*part)->name, (*part)->file_name.value_or("-"), (*part)->content_type, *text);
    }
    exchange.respond(200, "", all);
  }
  // Reads one piece of each part at most.
  Task<> count(HttpExchange& exchange) {
    MultipartForm form(exchange);
    int parts = 0;
    for (;;) {
      const Result<FormPart*> part = co_await form.next();
      if (!part) co_return;
      if (*part == nullptr) break;
      if (++parts % 2 == 0) co_await (*part)->read();
    }
    exchange.respond(200, "", fmt::format("parts:{}", parts));
  }
  Task<> save(HttpExchange& exchange) {
    ++begun_;
    const auto ended = run_when_released([this] { ++ended_; });
    MultipartForm form(exchange);
    std::string all = "saved:";
    for (;;) {
      const Result<FormPart*> part = co_await form.next();
      if (!part) co_return;
      if (*part == nullptr) break;
      Result<SavedFile> file = co_await (*part)->save(saving_in_, options_);
      error_ = test::error_of(file);
      if (!file) co_return;
      if ((*part)->name == "kept") all += std::filesystem::path(file->keep_as("kept").value()).filename();
      all += fmt::format("[{}]", file->bytes());
    }
    exchange.respond(200, "", all);
  }
  size_t files() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {})); }
  // A form whose parts are not sent at once.
  std::string answer_to_long(std::string_view request) {
    RawPeer one = peer();
    EXPECT_TRUE(send_all(one, request));
    return all_of(one);
  }

  static constexpr RouteOptions kLarge = {.body_limit_bytes = 64 * 1024 * 1024};
  static constexpr std::string_view kLast = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const test::TemporaryFolder around_;
  const std::string folder_ = around_.path("files");
  std::string saving_in_ = folder_;
  SaveOptions options_;
  std::error_code error_;
  int begun_ = 0;
  int ended_ = 0;
};

TEST_P(MultipartFormTest, parts_are_read_however_they_were_framed_and_split) {
  serve(routes());
  const std::string parts = multipart_part("a", "x\r\ny") + multipart_file("f", "\r\n--A\r\n") + multipart_part("", "");
  const std::string expected = "form:[a|-||x\r\ny][f|../x.bin|application/octet-stream|\r\n--A\r\n][|-||]";
  const std::string whole = multipart_post("/echo", parts);
  EXPECT_THAT(answer_to(whole + whole + std::string(kLast)), AllOf(HasSubstr(expected), EndsWith("plain")));
  std::string chunked =
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=\"B\"\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  for (const char byte : parts + std::string(kMultipartEnd)) chunked += fmt::format("1\r\n{}\r\n", byte);
  EXPECT_THAT(answer_to(chunked + "0\r\n\r\n" + std::string(kLast)), AllOf(HasSubstr(expected), EndsWith("plain")));
  RawPeer dripping = peer();
  for (const char byte : whole) {
    dripping.send(std::string_view(&byte, 1));
    ask([] {});
  }
  EXPECT_TRUE(hears(dripping, expected));
}

TEST_P(MultipartFormTest, what_is_not_read_is_passed_over) {
  serve(routes());
  const std::string data(200'000, 'x');
  std::string parts;
  for (int i = 0; i < 5; ++i) parts += multipart_file("f", data);
  EXPECT_THAT(answer_to_long(multipart_post("/count", parts) + std::string(kLast)),
              AllOf(HasSubstr("parts:5"), EndsWith("plain")));
}

TEST_P(MultipartFormTest, faults_are_answered_and_are_errors) {
  serve(routes());
  const std::string many = multipart_part("a", "") + multipart_part("a", "") + multipart_part("a", "");
  struct Row {
    std::string request;
    std::string_view status;
    int error;
  };
  const Row rows[] = {
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "415", EMEDIUMTYPE},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data\r\nContent-Length: 0\r\n\r\n", "415",
       EMEDIUMTYPE},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=B\r\nContent-Encoding: gzip\r\n"
       "Content-Length: 0\r\n\r\n",
       "415", EMEDIUMTYPE},
      {multipart_head("/echo", 0), "400", EBADMSG},
      {multipart_head("/echo", 40) + multipart_part("a", "x").substr(0, 40), "400", EBADMSG},
      {multipart_post("/echo", "--B\r\nX: y\r\n\r\n\r\n"), "400", EBADMSG},
      {multipart_post("/echo", multipart_part("a", "", std::string(200, 'x'))), "413", E2BIG},
      {multipart_post("/echo", many + many), "413", E2BIG},
      {multipart_post("/echo", multipart_part("a", std::string(1001, 'x'))), "413", EMSGSIZE},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(answer_to(row.request + std::string(kLast)),
                AllOf(StartsWith("HTTP/1.1 " + std::string(row.status)), EndsWith("plain")))
        << row.request;
    EXPECT_EQ(error_, errno_code(row.error)) << row.request;
  }
}

TEST_P(MultipartFormTest, files_are_saved_whole_and_those_nobody_keeps_are_gone) {
  serve(routes());
  std::string data(3'000'000, ' ');
  for (size_t at = 0; at < data.size(); ++at) data[at] = static_cast<char>(at * 7919 >> 8);
  const std::string parts = multipart_file("other", data) + multipart_file("kept", data) + multipart_file("none", "");
  EXPECT_THAT(answer_to_long(multipart_post("/save", parts) + std::string(kLast)),
              AllOf(HasSubstr("saved:[3000000]kept[3000000][0]"), EndsWith("plain")));
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(around_.read("files/kept"), data);
}

TEST_P(MultipartFormTest, the_disk_may_have_a_thread_of_its_own) {
  auto disk = LoopGroup::start(1, {}, "disk");
  ASSERT_TRUE(disk);
  options_ = {.sync = true, .disk = &(**disk)[0]};
  serve(routes());
  const std::string data(500'000, 'd');
  EXPECT_THAT(answer_to_long(multipart_post("/save", multipart_file("kept", data)) + std::string(kLast)),
              AllOf(HasSubstr("saved:kept[500000]"), EndsWith("plain")));
  EXPECT_EQ(std::filesystem::file_size(folder_ + "/kept"), data.size());
  end_server();
}

TEST_P(MultipartFormTest, what_is_too_long_or_has_no_place_leaves_nothing) {
  serve(routes());
  options_.limit_bytes = 100'000;
  const std::string long_file = multipart_post("/save", multipart_file("kept", std::string(100'001, 'x')));
  EXPECT_THAT(answer_to_long(long_file + std::string(kLast)), StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(error_, errno_code(EMSGSIZE));
  options_ = {};
  RawPeer one = peer_sending(multipart_head("/small", 2'000'000));
  EXPECT_TRUE(hears(one, "HTTP/1.1 413 "));  // longer than the route takes, before anything of it has come
  saving_in_ = folder_ + "/none";
  EXPECT_THAT(answer_to(multipart_post("/save", multipart_file("kept", "x")) + std::string(kLast)),
              StartsWith("HTTP/1.1 500 "));
  EXPECT_EQ(error_, errno_code(ENOENT));
  EXPECT_EQ(files(), 0U);
}

TEST_P(MultipartFormTest, a_client_that_goes_away_amid_a_file_leaves_nothing) {
  serve(routes());
  const std::string begin = multipart_head("/save", 1 << 26) + multipart_file("kept", std::string(50'000, 'x'));
  for (int way = 0; way < 3; ++way) {
    RawPeer one = peer();
    ASSERT_TRUE(send_all(one, std::string_view(begin).substr(0, begin.size() - 20)));
    ASSERT_TRUE(wait_until([&] { return begun_ == way + 1; }));
    if (way == 0) one.fin();
    if (way == 1) one.reset();
    if (way == 2) end_server();
    EXPECT_TRUE(way == 2 || wait_until([&] { return ended_ == way + 1; }));
  }
  EXPECT_EQ(ended_, 3);
  EXPECT_EQ(files(), 0U);
}

PEAL_TEST_ON_EVERY_PORT(MultipartFormTest);

}  // namespace
}  // namespace peal
