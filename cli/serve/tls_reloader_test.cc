// SPDX-License-Identifier: BSD-3-Clause
// Tests when a TlsReloader reads the files again, and what it logs. peal/tls/tls_server_context_test.cc tests how the
// files are read.
#include <cli/serve/tls_reloader.h>

#include <atomic>
#include <future>
#include <mutex>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/base/log.h>

namespace peal::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TlsReload : public testing::Test {
 protected:
  TlsReload() {
    set_log_sink([this](const LogRecord& record) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(record.text);
    });
  }
  ~TlsReload() override { set_log_sink({}); }

  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  static TlsResult<void> ask(TlsReloader& reloader) {
    std::promise<TlsResult<void>> told;
    reloader.reload([&told](const TlsResult<void>& done) { told.set_value(done); });
    return told.get_future().get();
  }
  static std::unique_ptr<TlsReloader> started(TlsFiles files, Duration look_every = TlsReloader::kOnlyWhenAsked) {
    return TlsReloader::start(std::move(files), look_every).value();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(TlsReload, a_reload_runs_on_the_reloaders_thread_and_its_result_is_logged) {
  std::thread::id where;
  bool good = true;
  const auto reloader = started({.reload = [&]() -> TlsResult<void> {
                                   where = std::this_thread::get_id();
                                   if (good) return {};
                                   return std::unexpected("site.pem: is not there");
                                 },
                                 .reload_if_changed = {}});
  EXPECT_TRUE(ask(*reloader));
  EXPECT_NE(where, std::this_thread::get_id()) << "reading blocks";
  good = false;
  EXPECT_EQ(ask(*reloader).error(), "site.pem: is not there");
  EXPECT_THAT(
      lines(),
      ElementsAre("the certificates were read again: new connections use the files as they are now",
                  "the certificates cannot be read again, and the old ones stay in use: site.pem: is not there"));
}

TEST_F(TlsReload, an_error_that_stays_is_logged_once) {
  constexpr int kLooks = 12;
  std::atomic<int> looks = 0;
  const auto look = [&looks]() -> TlsResult<bool> {
    const int number = ++looks;
    looks.notify_all();
    if (number == 1) return false;
    if (number < 6) return std::unexpected("site.pem: holds no certificate");
    if (number < 9) return std::unexpected("site.key: is of another certificate");
    if (number == 9) return true;
    if (number == 10) return std::unexpected("site.key: is of another certificate");
    return false;
  };
  const auto reloader = started({.reload = {}, .reload_if_changed = look}, std::chrono::microseconds(100));
  for (int seen = looks; seen < kLooks; seen = looks) looks.wait(seen);
  const std::string no_good = "the changed certificates cannot be used, and the old ones stay in use: ";
  EXPECT_THAT(lines(),
              ElementsAre(no_good + "site.pem: holds no certificate", no_good + "site.key: is of another certificate",
                          "the certificates have changed: new connections use the files as they are now",
                          no_good + "site.key: is of another certificate"));
}

TEST_F(TlsReload, without_an_interval_it_does_not_look_for_changes) {
  std::atomic<int> looks = 0;
  {
    const auto reloader = started({.reload = [] { return TlsResult<void>(); },
                                   .reload_if_changed = [&looks]() -> TlsResult<bool> { return ++looks > 0; }});
    EXPECT_TRUE(ask(*reloader));
  }
  EXPECT_EQ(looks, 0);
}

TEST_F(TlsReload, ends_while_it_waits) {
  {
    const auto reloader = started({.reload = {}, .reload_if_changed = {}});
  }
  {
    const auto reloader = started({.reload = {}, .reload_if_changed = {}}, std::chrono::hours(1));
  }
  EXPECT_THAT(lines(), IsEmpty());
}

}  // namespace
}  // namespace peal::cli
