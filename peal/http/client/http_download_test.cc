// SPDX-License-Identifier: BSD-3-Clause
// Downloads to a file: complete ones, continued ones, and errors of servers and disks.
#include <peal/http/client/http_download.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include <gmock/gmock.h>

#include <tests/support/files/room_on_disk.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using test::http_ok;
using test::HttpScript;
using testing::ElementsAre;

class HttpDownloadTest : public test::HttpClientTest {
 protected:
  void SetUp() override {
    HttpClientTest::SetUp();
    folder_ = temporary_.path("sub");
    std::filesystem::create_directory(folder_);
    path_ = folder_ + "/file";
  }
  void TearDown() override {
    download_.reset();
    HttpClientTest::TearDown();
  }

  static void write(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  // Downloads `url` and returns "bytes (resumed bytes)", or the text of the error.
  std::string outcome(const std::string& url, HttpDownloadOptions options = {}) {
    std::optional<Result<HttpDownloaded>> done;
    auto started = HttpDownload::start(client(), HttpClientRequest(url), path_, std::move(options),
                                       [&](Result<HttpDownloaded> how) { done = std::move(how); });
    if (!started) return "at once: " + started.error().message();
    download_ = std::move(*started);
    EXPECT_TRUE(run_until([&] { return done.has_value(); }));
    download_.reset();
    if (!done) return "nothing";
    if (!*done) return done->error().message();
    return fmt::format("{} ({})", (*done)->bytes, (*done)->resumed_bytes);
  }
  // Starts a server of this file that obeys Range and If-Range, and closes each answer after `piece` bytes of the body.
  HttpScript& serve_file(std::string body, std::string tag, size_t piece = SIZE_MAX) {
    return serve([=](Connection& connection, const Request& request) {
      size_t from = 0;
      const size_t at = request.head.find("\r\nRange: bytes=");
      if (at != std::string::npos && request.has("If-Range: " + tag)) from = std::stoul(request.head.substr(at + 15));
      const std::string status =
          from > 0 ? fmt::format("206 Partial\r\nContent-Range: bytes {}-{}/{}", from, body.size() - 1, body.size())
                   : "200 OK";
      connection.send(fmt::format("HTTP/1.1 {}\r\nETag: {}\r\nContent-Length: {}\r\n\r\n{}", status, tag,
                                  body.size() - from, body.substr(from, piece)));
      if (body.size() - from > piece) connection.close();
    });
  }
  // Writes a part and its note, as an attempt that broke off leaves them.
  void leave_part(const std::string& url, std::string_view bytes, std::string_view validator) {
    write(path_ + ".part", bytes);
    write(path_ + ".part.meta", fmt::format("peal download 1\n{}\n{}\n", url, validator));
  }

  const test::TemporaryFolder temporary_;
  std::string folder_, path_;
  std::unique_ptr<HttpDownload> download_;
};

TEST_P(HttpDownloadTest, a_file_comes_and_replaces_the_one_that_was_there) {
  write(path_, "an older one");
  const std::string body = pattern(500'000);
  HttpScript& server = serve_text(http_ok(body));
  EXPECT_EQ(outcome(server.url()), "500000 (0)");
  EXPECT_TRUE(same_bytes(test::read_file(path_), body));
  EXPECT_THAT(files(), ElementsAre("file"));
  EXPECT_TRUE(server.requests().at(0).has("Accept-Encoding: identity"));
  HttpDownloadOptions synced;
  synced.sync = true;
  EXPECT_EQ(outcome(serve_text(http_ok("")).url(), std::move(synced)), "0 (0)");
  EXPECT_EQ(test::read_file(path_), "");
}

TEST_P(HttpDownloadTest, an_attempt_that_broke_off_is_taken_up_again) {
  const std::string body = pattern(300'000);
  HttpScript& server = serve_file(body, "\"v1\"", 100'000);
  EXPECT_EQ(outcome(server.url()), "the server closed before its answer was complete");
  EXPECT_THAT(files(), ElementsAre("file.part", "file.part.meta"));
  EXPECT_EQ(outcome(server.url()), "the server closed before its answer was complete");
  EXPECT_EQ(outcome(server.url()), "300000 (200000)");
  EXPECT_TRUE(same_bytes(test::read_file(path_), body));
  EXPECT_THAT(files(), ElementsAre("file"));
  EXPECT_TRUE(server.requests().at(1).has("Range: bytes=100000-"));
  EXPECT_TRUE(server.requests().at(1).has("If-Range: \"v1\""));
}

TEST_P(HttpDownloadTest, a_file_that_has_changed_comes_anew) {
  const std::string body = pattern(5000);
  HttpScript& server = serve_file(body, "\"v2\"");
  leave_part(server.url(), "older bytes", "\"v1\"");
  EXPECT_EQ(outcome(server.url()), "5000 (0)");
  EXPECT_TRUE(same_bytes(test::read_file(path_), body));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_P(HttpDownloadTest, without_something_that_tells_versions_apart_it_begins_anew) {
  const auto head = [](std::string_view fields) {
    return fmt::format("HTTP/1.1 200 OK\r\n{}Content-Length: 10\r\n\r\nhalf", fields);
  };
  const std::pair<const char*, bool> cases[] = {
      {"", false},
      {"ETag: W/\"v1\"\r\n", false},
      {"ETag: W/\"v1\"\r\nLast-Modified: Wed, 25 Nov 2026 12:00:00 GMT\r\nDate: Wed, 25 Nov 2026 13:00:00 GMT\r\n",
       false},
      {"ETag: nonsense\r\n", false},
      {"Last-Modified: Wed, 25 Nov 2026 12:00:00 GMT\r\n", false},
      {"Last-Modified: Wed, 25 Nov 2026 12:00:00 GMT\r\nDate: Wed, 25 Nov 2026 12:00:00 GMT\r\n", false},
      {"Last-Modified: Wed, 25 Nov 2026 12:00:00 GMT\r\nDate: Wed, 25 Nov 2026 12:00:01 GMT\r\n", true},
      {"ETag: \"v1\"\r\n", true}};
  for (const auto& [fields, may] : cases) {
    HttpScript& server = serve_text_and_close(head(fields));
    EXPECT_EQ(outcome(server.url()), "the server closed before its answer was complete");
    outcome(server.url());
    EXPECT_EQ(server.requests().at(1).head.contains("Range: bytes=4-"), may) << fields;
    std::filesystem::remove(path_ + ".part");
  }
}

TEST_P(HttpDownloadTest, off_nothing_is_taken_up) {
  HttpScript& server = serve_file("whole", "\"v1\"");
  leave_part(server.url(), "wh", "\"v1\"");
  HttpDownloadOptions options;
  options.resume = false;
  EXPECT_EQ(outcome(server.url(), std::move(options)), "5 (0)");
  EXPECT_FALSE(server.requests().at(0).head.contains("Range"));
}

TEST_P(HttpDownloadTest, a_note_that_is_anothers_or_none_is_not_believed) {
  HttpScript& server = serve_file("whole", "\"v1\"");
  const std::string url = server.url();
  for (const std::string& note :
       {std::string(), std::string("nonsense"), "peal download 1\n" + url + "x\n\"v1\"\n",
        "peal download 1\n" + url + "\n", "peal download 1\n" + url + "\n\n", "peal download 1\n" + url + "\n\"v1\"",
        "peal download 1\n" + url + "\n\"v1\"\nX: injected\n"}) {
    write(path_ + ".part", "wh");
    write(path_ + ".part.meta", note);
    EXPECT_EQ(outcome(url), "5 (0)") << note;
    EXPECT_FALSE(server.requests().back().head.contains("Range")) << note;
  }
}

// The server sends one of these answers if a request has a Range, and the whole content to any other request.
TEST_P(HttpDownloadTest, a_server_that_lies_about_parts_is_asked_for_the_whole_once) {
  for (const char* answer : {
           "206 Partial\r\nContent-Range: bytes 3-8/9\r\nContent-Length: 6\r\n\r\nevil!!",
           "206 Partial\r\nContent-Range: bytes 0-8/9\r\nContent-Length: 9\r\n\r\nevil!evil",
           "206 Partial\r\nContent-Range: bytes 4-7/9\r\nContent-Length: 4\r\n\r\nevil",
           "206 Partial\r\nContent-Range: bytes 4-8/9\r\nContent-Length: 4\r\n\r\nevil",
           "206 Partial\r\nContent-Range: bytes 4-8/99999999999999999999\r\nContent-Length: 5\r\n\r\nevil!",
           "206 Partial\r\nContent-Range: nonsense\r\nContent-Length: 5\r\n\r\nevil!",
           "206 Partial\r\nContent-Length: 5\r\n\r\nevil!",
           "206 Partial\r\nETag: \"v1\"\r\nContent-Range: bytes 4-8/*\r\nContent-Length: 5\r\n\r\nevil!",
           "206 Partial\r\nContent-Range: bytes 4-8/9\r\nContent-Length: 5\r\n\r\nevil!",
           "206 Partial\r\nETag: \"v2\"\r\nContent-Range: bytes 4-8/9\r\nContent-Length: 5\r\n\r\nevil!",
           "206 Partial\r\nETag: W/\"v1\"\r\nContent-Range: bytes 4-8/9\r\nContent-Length: 5\r\n\r\nevil!",
           "206 Partial\r\nContent-Type: multipart/byteranges; boundary=x\r\nContent-Length: 5\r\n\r\nevil!",
           "416 Not so\r\nContent-Range: bytes */4\r\nContent-Length: 0\r\n\r\n",
           "416 Not so\r\nContent-Length: 0\r\n\r\n",
       }) {
    HttpScript& server = serve([&](Connection& connection, const Request& request) {
      connection.send(request.head.contains("Range") ? std::string("HTTP/1.1 ") + answer : http_ok("the whole"));
    });
    leave_part(server.url(), "part", "\"v1\"");
    EXPECT_EQ(outcome(server.url()), "9 (0)") << answer;
    EXPECT_EQ(test::read_file(path_), "the whole");
    EXPECT_EQ(server.requests().size(), 2u);
  }
}

TEST_P(HttpDownloadTest, a_part_need_not_say_its_version_again) {
  HttpScript& server = serve_text(
      "HTTP/1.1 206 Partial\r\nETag: \"v1\"\r\nDate: Wed, 25 Nov 2026 13:00:00 GMT\r\n"
      "Content-Range: bytes 4-8/9\r\nContent-Length: 5, 5\r\n\r\nwhole");
  leave_part(server.url(), "part", "Wed, 25 Nov 2026 12:00:00 GMT");
  EXPECT_EQ(outcome(server.url()), "9 (4)");
  EXPECT_EQ(test::read_file(path_), "partwhole");
}

TEST_P(HttpDownloadTest, a_part_of_another_length_than_was_said) {
  const std::string part =
      "HTTP/1.1 206 Partial\r\nETag: \"v1\"\r\nContent-Range: bytes 4-8/9\r\nTransfer-Encoding: chunked\r\n\r\n";
  HttpScript& more = serve_text(part + "9\r\nfar-too-l\r\n0\r\n\r\n");
  leave_part(more.url(), "part", "\"v1\"");
  EXPECT_EQ(outcome(more.url()), make_error_code(HttpTrouble::kBadPart).message());
  EXPECT_EQ(test::read_file(path_ + ".part"), "part") << "nothing of it is kept";
  HttpScript& less = serve_text(part + "2\r\nsh\r\n0\r\n\r\n");
  leave_part(less.url(), "part", "\"v1\"");
  EXPECT_EQ(outcome(less.url()), make_error_code(HttpTrouble::kBadPart).message());
  HttpScript& unasked =
      serve_text("HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-3/9\r\nContent-Length: 4\r\n\r\nevil");
  EXPECT_EQ(outcome(unasked.url()), make_error_code(HttpTrouble::kBadPart).message());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_P(HttpDownloadTest, a_status_is_an_error_that_carries_it) {
  HttpScript& server = serve_text("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope");
  leave_part(server.url(), "part", "\"v1\"");
  EXPECT_EQ(outcome(server.url()), "the server answers 404");
  EXPECT_EQ(status_of_server(server_refusal(404)), 404);
  EXPECT_EQ(status_of_proxy(server_refusal(404)), 0);
  EXPECT_EQ(status_of_server(proxy_refusal(404)), 0);
  EXPECT_EQ(test::read_file(path_ + ".part"), "part") << "it may come back";
}

TEST_P(HttpDownloadTest, redirects_are_followed_and_codings_kept_as_they_come) {
  client_options.decode = true;
  HttpScript& there = serve_text("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nraw!");
  HttpScript& here = serve_text("HTTP/1.1 302 There\r\nContent-Length: 0\r\nLocation: " + there.url() + "\r\n\r\n");
  EXPECT_EQ(outcome(here.url()), "4 (0)");
  EXPECT_EQ(test::read_file(path_), "raw!");
}

TEST_P(HttpDownloadTest, a_limit_is_held_before_and_while_it_comes) {
  const auto outcome_within = [this](uint64_t limit_bytes, const HttpScript& server) {
    HttpDownloadOptions options;
    options.limit_bytes = limit_bytes;
    return outcome(server.url(), std::move(options));
  };
  const std::string too_large = make_error_code(HttpTrouble::kAnswerTooLarge).message();
  EXPECT_EQ(outcome_within(8, serve_text(http_ok("nine byte"))), too_large);
  EXPECT_EQ(test::read_file(path_ + ".part"), "");
  HttpScript& chunked = serve_text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n5\r\nfiver\r\n");
  EXPECT_EQ(outcome_within(8, chunked), too_large);
  HttpScript& server = serve_file("nine byte", "\"v1\"");
  leave_part(server.url(), "nine", "\"v1\"");
  EXPECT_EQ(outcome_within(8, server), too_large);
  EXPECT_EQ(outcome_within(9, server), "9 (4)");
}

TEST_P(HttpDownloadTest, progress_is_told_at_a_bounded_rate) {
  const std::string body = pattern(2'000'000);
  HttpScript& server = serve_file(body, "\"v1\"");
  leave_part(server.url(), body.substr(0, 1000), "\"v1\"");
  std::vector<std::pair<uint64_t, uint64_t>> told;
  HttpDownloadOptions options;
  options.progress_interval = std::chrono::hours(1);
  options.on_progress = [&](uint64_t bytes, std::optional<uint64_t> total) { told.emplace_back(bytes, total.value()); };
  EXPECT_EQ(outcome(server.url(), std::move(options)), "2000000 (1000)");
  EXPECT_THAT(told, ElementsAre(std::pair(1000u, 2'000'000u), std::pair(2'000'000u, 2'000'000u)));
  options = {};
  options.progress_interval = {};
  uint64_t last = 0;
  size_t times = 0;
  options.on_progress = [&](uint64_t bytes, std::optional<uint64_t>) {
    EXPECT_GE(bytes, last);
    last = bytes;
    ++times;
  };
  EXPECT_EQ(outcome(server.url(), std::move(options)), "2000000 (0)");
  EXPECT_GT(times, 5u);
}

TEST_P(HttpDownloadTest, ended_from_inside_its_own_callbacks) {
  HttpScript& server = serve_file(pattern(500'000), "\"v1\"");
  for (const size_t when : {1, 2, 3}) {
    size_t times = 0;
    HttpDownloadOptions options;
    options.progress_interval = {};
    options.on_progress = [&](uint64_t, std::optional<uint64_t>) {
      if (++times == when) download_.reset();
    };
    auto started = HttpDownload::start(client(), HttpClientRequest(server.url()), path_, std::move(options),
                                       [](const Result<HttpDownloaded>&) { ADD_FAILURE(); });
    download_ = std::move(*started);
    ASSERT_TRUE(run_until([&] { return download_ == nullptr; }));
    EXPECT_EQ(times, when);
  }
  EXPECT_TRUE(outcome(server.url()).starts_with("500000"));
  bool done = false;
  auto started =
      HttpDownload::start(client(), HttpClientRequest(server.url()), path_, {}, [&](const Result<HttpDownloaded>&) {
        download_.reset();
        done = true;
      });
  download_ = std::move(*started);
  ASSERT_TRUE(run_until([&] { return done; }));
}

TEST_P(HttpDownloadTest, a_disk_that_takes_no_more_is_an_error_and_the_part_stays) {
  HttpScript& server = serve_file(pattern(300'000), "\"v1\"");
  {
    const test::RoomOnDisk room(100'000);
    EXPECT_EQ(outcome(server.url()), errno_code(EFBIG).message());
  }
  EXPECT_EQ(std::filesystem::file_size(path_ + ".part"), 100'000u);
  EXPECT_EQ(outcome(server.url()), "300000 (100000)");
  EXPECT_TRUE(same_bytes(test::read_file(path_), pattern(300'000)));
}

TEST_P(HttpDownloadTest, what_cannot_be_begun_says_so_at_once) {
  HttpScript& server = serve_text(http_ok("x"));
  const auto start = [&](const HttpClientRequest& request, const std::string& path) {
    const auto started =
        HttpDownload::start(client(), request, path, {}, [](const Result<HttpDownloaded>&) { ADD_FAILURE(); });
    return started ? std::error_code() : started.error();
  };
  const HttpClientRequest get(server.url());
  EXPECT_EQ(start(HttpClientRequest("POST", server.url(), "x"), path_), HttpTrouble::kBadRequest);
  EXPECT_EQ(start(HttpClientRequest(server.url()).add("range", "bytes=1-"), path_), HttpTrouble::kBadRequest);
  EXPECT_EQ(start(HttpClientRequest("nonsense"), path_), HttpTrouble::kBadUrl);
  EXPECT_EQ(start(get, folder_ + "/none/file"), errno_code(ENOENT));
  ::symlink("/dev/null", (path_ + ".part").c_str());
  std::filesystem::remove(path_ + ".part");
  ::symlink("elsewhere", (path_ + ".part").c_str());
  EXPECT_EQ(start(get, path_), errno_code(ELOOP));
  std::filesystem::remove(path_ + ".part");
  ::mkfifo((path_ + ".part").c_str(), 0600);
  EXPECT_EQ(start(get, path_), errno_code(EEXIST));
  std::filesystem::remove(path_ + ".part");
  auto first = HttpDownload::start(client(), get, path_, {}, nullptr);
  ASSERT_TRUE(first);
  EXPECT_EQ(start(get, path_), errno_code(EBUSY));
}

TEST_P(HttpDownloadTest, one_that_outlives_its_client_is_told_nothing_more) {
  HttpScript& server = serve(nullptr);
  auto started = HttpDownload::start(client(), HttpClientRequest(server.url()), path_, {},
                                     [](const Result<HttpDownloaded>&) { ADD_FAILURE(); });
  ASSERT_TRUE(run_until([&] { return server.requests().size() == 1; }));
  drop_client();
  ASSERT_TRUE(run_until([&] { return server.open() == 0; }));
  started->reset();
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(HttpDownloadTest);

}  // namespace
}  // namespace peal
