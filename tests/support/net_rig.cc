// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/net_rig.h>

#include <algorithm>

#include <fmt/format.h>

#include <peal/base/log.h>
#include <peal/base/memory/memory_budget.h>

namespace peal::test {
namespace {

constexpr Duration kPatience = std::chrono::seconds(60);

struct Wait {
  std::function<bool()> done;
  TimePoint give_up;
  TimerId timer;
  std::promise<bool> answer;
};

}  // namespace

testing::AssertionResult wait_until(Loop& loop, std::function<bool()> done) {
  auto wait = std::make_shared<Wait>(std::move(done), monotonic_now() + kPatience, TimerId{}, std::promise<bool>{});
  std::future<bool> answer = wait->answer.get_future();
  bool posted = loop.mailbox()->insist([&loop, wait = std::move(wait)]() mutable {
    Wait& here = *wait;
    here.timer = loop.every(std::chrono::milliseconds(1), [&loop, wait = std::move(wait)] {
      RawPeer::tend_all();
      bool done_now = wait->done();
      if (!done_now && loop.now() < wait->give_up) return;
      loop.cancel(wait->timer);
      wait->answer.set_value(done_now);
    });
  });
  if (!posted) return testing::AssertionFailure() << "the loop has ended";
  try {
    if (answer.get()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the condition did not become true within 60 s";
  } catch (const std::future_error&) {
    return testing::AssertionFailure() << "the loop ended before the condition became true";
  }
}

void Journal::add(std::string line) {
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::move(line));
}

void Journal::clear() {
  const std::lock_guard lock(mutex_);
  lines_.clear();
}

std::vector<std::string> Journal::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

size_t Journal::count(std::string_view line) const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::ranges::count(lines_, line));
}

SharedConnectionCallbacks Journal::callbacks(SharedConnectionCallbacks own) {
  if (!own.on_open) own.on_open = [this](Connection&) { add("open"); };
  if (!own.on_message) {
    own.on_message = [this](Connection&, Buffer& input) {
      add(fmt::format("message {}", input.size()));
      input.clear();
    };
  }
  if (!own.on_close) {
    own.on_close = [this](Connection&, CloseReason reason) { add(fmt::format("close: {}", to_string(reason))); };
  }
  return own;
}

SharedConnectionCallbacks echoing() {
  return {.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }};
}

void NetTest::SetUp() {
  LoopEngineTest::SetUp();
  if (IsSkipped()) return;
  set_log_sink([this](const LogRecord& record) { log_texts.add(std::string(record.text)); });
  thread_.emplace(options());
  ask([] {});
}

void NetTest::TearDown() {
  if (IsSkipped()) return;
  thread_.reset();
  set_log_sink({});
  MemoryBudget::set(MemoryBudget::default_marks());
  expect_no_fd_left();
}

std::unique_ptr<Server> NetTest::serve(ConnectionCallbacks callbacks, const ServerOptions& options) {
  auto server = std::make_unique<Server>(loop(), std::move(callbacks), options);
  Result<SocketAddress> bound = server->listen("127.0.0.1:0");
  EXPECT_TRUE(bound.has_value()) << bound.error().message();
  if (bound) address_ = *bound;
  return server;
}

RawPeer NetTest::connect_peer(int receive_buffer_bytes) { return RawPeer::connected(address_, receive_buffer_bytes); }

testing::AssertionResult NetTest::send_all(RawPeer& peer, std::string_view bytes) {
  return wait_until([&peer, bytes]() mutable {
    while (size_t sent = peer.try_send(bytes)) {
      bytes.remove_prefix(sent);
      if (bytes.empty()) break;
    }
    return bytes.empty();
  });
}

testing::AssertionResult NetTest::ends(RawPeer& peer) {
  return wait_until([&peer] { return !peer.pump(); });
}

testing::AssertionResult NetTest::hears_all(RawPeer& peer, std::string_view text) {
  return wait_until([&peer, text] {
    peer.pump();
    return peer.received() == text;
  });
}

std::future<DrainReport> NetTest::drain(Server& server, Duration deadline, DrainMode mode) {
  auto promise = std::make_shared<std::promise<DrainReport>>();
  server.drain(deadline, mode, [promise](const DrainReport& report) { promise->set_value(report); });
  return promise->get_future();
}

bool NetTest::reported(const std::future<DrainReport>& report) {
  return report.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

testing::AssertionResult NetTest::drains(RawPeer& peer, const std::future<DrainReport>& report) {
  return wait_until([&peer, &report] {
    if (!peer.pump()) peer.close();
    return reported(report);
  });
}

testing::AssertionResult NetTest::noted(std::string_view line, size_t times) {
  return wait_until([this, line, times] { return journal.count(line) == times; });
}

std::vector<std::string> NetTest::noted_lines(size_t count) {
  EXPECT_TRUE(wait_until([this, count] { return journal.lines().size() == count; }));
  return journal.lines();
}

}  // namespace peal::test
