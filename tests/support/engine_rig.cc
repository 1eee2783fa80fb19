// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/engine_rig.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include <fmt/format.h>

#include <peal/engine/engines.h>
#include <tests/support/raw_peer.h>
#include <tests/support/sealed/sealed_exclusions.h>

namespace peal {
namespace {

constexpr Duration kPatience = std::chrono::seconds(60);
constexpr size_t kStoryLines = 60;

}  // namespace

EngineRig::EngineRig(const std::string& engine_name) {
  auto made = test::make_engine(engine_name);
  if (!made) {
    ADD_FAILURE() << engine_name << ": " << made.error().message();
    return;
  }
  engine_ = std::move(*made);
  open();
}

EngineRig::EngineRig(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) { open(); }

void EngineRig::open() {
  auto opened = engine_->open();
  EXPECT_TRUE(opened.has_value()) << engine_->name() << ": " << opened.error().message();
}

EngineRig::~EngineRig() {
  if (!engine_) return;
  // Removes the functions that the test has set. They use local variables of the test, which no longer exist.
  for (auto& log : streams_) {
    log.when_connected = log.when_received = log.when_ended = log.when_send_failed = log.when_sent =
        log.when_closed = {};
  }
  for (auto& log : acceptors_) log.when_accepted = log.when_stopped = {};
  for (auto& log : watches_) log.when_ready = log.when_unwatched = {};
  shut();
  engine_.reset();
}

void EngineRig::shut() {
  if (std::exchange(shut_, true)) return;
  note("shut()");
  dispatching_ = true;
  engine_->shut();
  dispatching_ = false;
  auto check = [this](const auto& logs) {
    for (const auto& log : logs) EXPECT_FALSE(log.open()) << log.name() << " got no last completion\n" << story();
  };
  check(streams_);
  check(acceptors_);
  check(watches_);
}

AcceptLog& EngineRig::listen(const SocketAddress& address, const ListenOptions& options) {
  return begin_accept(engine_->bind(address, options), address.to_string());
}

AcceptLog& EngineRig::adopt_listener(Fd listening, const AdoptOptions& options) {
  return begin_accept(engine_->adopt_listener(std::move(listening), options), "adopted");
}

AcceptLog& EngineRig::begin_accept(const Result<ListenerId>& id, const std::string& what) {
  AcceptLog& log = acceptors_.emplace_back(*this, fmt::format("listener{}", acceptors_.size()));
  EXPECT_TRUE(id.has_value()) << what << ": " << id.error().message();
  if (!id) return log;
  log.id = *id;
  auto bound = engine_->local_address(*id);
  EXPECT_TRUE(bound.has_value());
  if (bound) log.address = *bound;
  log.given_ = true;
  down(log.name() + " accept", [&] { engine_->accept(log.id, log); });
  return log;
}

StreamLog& EngineRig::connect(const SocketAddress& address, const std::string& name, const ConnectOptions& options) {
  StreamLog& log = streams_.emplace_back(*this, name);
  log.given_ = log.connecting_ = true;
  log.id = down(name + " connect " + address.to_string(), [&] { return engine_->connect(address, options, log); });
  EXPECT_TRUE(static_cast<bool>(log.id));
  return log;
}

StreamLog& EngineRig::adopt(LooseStream stream, const std::string& name) {
  StreamLog& log = streams_.emplace_back(*this, name);
  log.given_ = true;
  log.connecting_ = !engine_->adopts_open();
  log.id = down(name + " adopt", [&] { return engine_->adopt(std::move(stream), log); });
  EXPECT_TRUE(static_cast<bool>(log.id));
  return log;
}

WatchLog& EngineRig::watch(int fd, bool readable, bool writable) {
  WatchLog& log = watches_.emplace_back(*this, fmt::format("watch{}", watches_.size()));
  log.given_ = true;
  log.id = down(log.name() + " watch", [&] { return engine_->watch(fd, readable, writable, log).value(); });
  EXPECT_TRUE(static_cast<bool>(log.id));
  return log;
}

EngineRig::Pair EngineRig::pair(const SocketOptions& client, const SocketOptions& server) {
  AcceptLog& acceptor = listen(loopback(), {.socket = server});
  StreamLog& here = connect(acceptor.address, "client", {.socket = client, .source = {}});
  EXPECT_TRUE(run_until([&] { return !acceptor.accepted.empty(); }));
  StreamLog& there = adopt(std::move(acceptor.accepted.front()));
  EXPECT_TRUE(run_until([&] { return here.connected && (there.connected || engine_->adopts_open()); }));
  EXPECT_FALSE(here.connect_error) << here.connect_error.message();
  acceptor.accepted.clear();
  acceptor.stop();
  EXPECT_TRUE(run_until([&] { return acceptor.stopped; }));
  return {here, there};
}

size_t EngineRig::wait(TimePoint deadline) {
  dispatching_ = true;
  size_t events = engine_->wait(deadline);
  dispatching_ = false;
  return events;
}

testing::AssertionResult EngineRig::pump(const std::function<bool()>& done, Duration slice) {
  TimePoint give_up = engine_->now() + kPatience;
  while (!done()) {
    // In run_until(), a wait() without an event ends at `give_up`. The test fails in that case, even if `done` would
    // return true by now. The reason is that the engine must report the event that makes `done` true. A test must not
    // pass because the time limit has ended the wait().
    wait(std::min(give_up, engine_->now() + slice));
    if (engine_->now() >= give_up) return testing::AssertionFailure() << "the wait timed out\n" << story();
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult EngineRig::run_until(const std::function<bool()>& done) { return pump(done, kPatience); }

testing::AssertionResult EngineRig::run_beside(const std::function<bool()>& done) {
  return pump(done, std::chrono::milliseconds(1));
}

testing::AssertionResult EngineRig::stops(AcceptLog& acceptor) {
  acceptor.stop();
  return run_until([&] { return acceptor.stopped; });
}

void EngineRig::settle() {
  constexpr int kMostTurns = 10'000;
  for (int turn = 0; turn < kMostTurns; ++turn) {
    if (wait(engine_->now() + std::chrono::milliseconds(3)) == 0) return;
  }
  ADD_FAILURE() << "the engine still reports events after 10000 waits\n" << story();
}

SocketAddress EngineRig::loopback() { return address_of("127.0.0.1:0"); }

void EngineRig::note(std::string line) {
  story_.push_back(std::move(line));
  if (story_.size() > kStoryLines) story_.pop_front();
}

std::string EngineRig::story() const {
  std::string text = fmt::format("story on {}:\n", engine_ ? engine_->name() : "no engine");
  for (const auto& line : story_) text.append("  ").append(line).append("\n");
  return text;
}

void EngineTest::SetUp() {
  if (const std::string reason = test::why_not_tested(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
  RawPeer::seal_all(test::is_sealed(GetParam()));
  fds_before_ = count_open_fds();
  blocks_before_ = BlockPool::here().stats().blocks_in_use;
  rig_ = std::make_unique<EngineRig>(GetParam());
  ASSERT_FALSE(HasFailure());
}

void EngineTest::TearDown() {
  if (IsSkipped() && !rig_) return;
  RawPeer::seal_all(false);
  rig_.reset();
  BlockPool::here().trim(SIZE_MAX);
  EXPECT_EQ(BlockPool::here().stats().blocks_in_use, blocks_before_) << "the test left blocks behind";
  EXPECT_EQ(count_open_fds(), fds_before_) << "the test left fds behind; open are now" << open_fds();
}

std::vector<std::string> every_engine() {
  std::vector<std::string> names = engines_with_fds();
  names.emplace_back("sim");
  return names;
}

std::vector<std::string> engines_with_fds() { return {engine_names().begin(), engine_names().end()}; }

std::vector<std::string> sealed(const std::vector<std::string>& engine_names) {
  const auto names = test::sealed({engine_names.begin(), engine_names.end()});
  return {names.begin(), names.end()};
}

std::vector<std::string> over_tls(const std::vector<std::string>& engine_names) {
  const auto names = test::over_tls({engine_names.begin(), engine_names.end()});
  return {names.begin(), names.end()};
}

std::string engine_label(const testing::TestParamInfo<std::string>& info) { return info.param; }

std::string pattern(size_t size) {
  std::mt19937_64 random(size);
  std::string bytes(size, '\0');
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    const uint64_t eight = random();
    std::memcpy(bytes.data() + at, &eight, std::min(sizeof eight, size - at));
  }
  return bytes;
}

testing::AssertionResult same_bytes(const std::string& got, const std::string& wanted) {
  if (got == wanted) return testing::AssertionSuccess();
  auto [differs, unused] = std::ranges::mismatch(got, wanted);
  return testing::AssertionFailure() << "got " << got.size() << " bytes, wanted " << wanted.size()
                                     << "; the first difference is at " << differs - got.begin();
}

SocketAddress address_of(std::string_view text) {
  auto address = SocketAddress::parse(text);
  EXPECT_TRUE(address.has_value()) << text;
  return address.value_or(SocketAddress{});
}

bool has_ipv6_loopback() {
  SocketAddress address = address_of("[::1]:0");
  Fd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return fd && ::bind(fd.get(), address.data(), address.size()) == 0;
}

size_t count_open_fds() {
  const std::filesystem::directory_iterator fds("/proc/self/fd");
  // Subtracts one, because the list also contains the fd that reads the folder.
  return static_cast<size_t>(std::distance(begin(fds), end(fds))) - 1;
}

std::string open_fds() {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    text +=
        fmt::format(" {}={}", entry.path().filename().string(), std::filesystem::read_symlink(entry, gone).string());
  }
  return text;
}

}  // namespace peal
