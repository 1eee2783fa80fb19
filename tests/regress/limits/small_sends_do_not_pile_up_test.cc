// SPDX-License-Identifier: BSD-3-Clause
// 20 MB in lines of 50 bytes were sent to a client that read as fast as it could. The engine gave the kernel sixteen
// parts of the queue. It gave the next sixteen only a turn later, when the first were reported as sent. So it fell
// behind a sender of more than sixteen lines per turn. Each line had a block of its own, and the queued lines held 94
// to 257 MB. With an output limit of 256 KiB, a client that read all it could was cut off after 29,056 bytes. Now all
// that the kernel has room for leaves in the same turn, in however many parts.
//
// Senders that wait for on_writable have a reader on another thread. Senders that do not wait are tested on one thread:
// the peers have read everything before the next turn begins, so nothing depends on which side is faster.
#include <poll.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include <peal/base/log.h>
#include <peal/base/memory/memory_budget.h>
#include <tests/support/net_rig.h>
#include <tests/support/sanitized.h>
#include <tests/support/stepped_loop.h>

namespace peal {
namespace {

constexpr size_t kLineBytes = 50;
constexpr size_t kLines = (kSanitized ? 2'000'000 : 20'000'000) / kLineBytes;

// Lines with numbers, so that a test sees if a line is lost, doubled or in the wrong place.
class NumberedLines {
 public:
  explicit NumberedLines(size_t count) : count_(count) {}
  bool over() const { return next_ == count_; }
  // Returns the next line, which is valid until the next call.
  std::string_view next() {
    const std::string digits = std::to_string(next_++);
    std::ranges::copy(digits, line_.end() - 1 - static_cast<ptrdiff_t>(digits.size()));
    return line_;
  }
  static std::string all(size_t count) {
    NumberedLines lines(count);
    std::string text;
    text.reserve(count * kLineBytes);
    while (!lines.over()) text += lines.next();
    return text;
  }

 private:
  const size_t count_;
  size_t next_ = 0;
  std::string line_ = std::string(kLineBytes - 1, '0') + '\n';
};

// How much more the process's blocks held, at most, than when this object was made. look() measures it.
class PeakOfBlocks {
 public:
  PeakOfBlocks() {
    BlockPool::here().trim();  // frees blocks of earlier tests, which would be used first
    before_ = most_ = MemoryBudget::held_bytes();
  }
  // Returns what a queue of `lines` lines may hold: a small block for each line, and room for received input.
  static constexpr uint64_t of_lines(uint64_t lines) { return lines * kSmallBlockBytes + 512 * 1024; }
  void look() { most_ = std::max(most_, MemoryBudget::held_bytes()); }
  uint64_t bytes() const { return most_ - before_; }

 private:
  uint64_t before_ = 0;
  uint64_t most_ = 0;
};

bool send_moved(Connection& connection, std::string_view line) { return connection.send(Buffer(line)); }
bool send_copied(Connection& connection, std::string_view line) { return connection.send(line); }

class SmallSendsThatWait : public test::NetTest {
 protected:
  static constexpr uint32_t kMark = 64 * 1024;

  // Expects that the peer gets all lines. `callbacks` send them and then close the connection.
  void expect_all_read(ConnectionCallbacks callbacks) {
    test::Journal ends;
    callbacks.on_close = [&](Connection&, CloseReason reason) { ends.add(std::string(to_string(reason))); };
    peak_.emplace();
    auto server = serve(std::move(callbacks), {.connection = {.high_water_bytes = kMark}});
    RawPeer peer = connect_peer();
    peer.send("?");
    while (peer.pump()) {
      pollfd entry{.fd = peer.fd(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(::poll(&entry, 1, 10'000), 1) << "for 10 s nothing came";
    }
    peer.close();
    EXPECT_TRUE(same_bytes(peer.received(), NumberedLines::all(kLines)));
    EXPECT_TRUE(wait_until([&] { return !ends.lines().empty(); }));
    EXPECT_THAT(ends.lines(), testing::ElementsAre(to_string(CloseReason::kLocal)));
    // Lines wait up to the mark, and one more line crosses it.
    EXPECT_LE(peak_->bytes(), PeakOfBlocks::of_lines(kMark / kLineBytes + 1));
  }
  // Sends at most `count` lines. Returns true if the caller may send more.
  bool send_some(Connection& connection, size_t count) {
    bool more = true;
    for (; count > 0 && more && !lines_.over(); --count) more = send_moved(connection, lines_.next());
    peak_->look();
    if (lines_.over()) connection.close();
    return more && !lines_.over();
  }
  // Sends 100 lines at a time from a task that posts itself.
  void send_in_tasks(Connection& connection) {
    loop().post([this, handle = connection.handle()] {
      handle.run([this](Connection& here) {
        if (send_some(here, 100)) send_in_tasks(here);
      });
    });
  }

 private:
  NumberedLines lines_{kLines};
  std::optional<PeakOfBlocks> peak_;
};

TEST_P(SmallSendsThatWait, up_to_the_mark_in_one_call) {
  expect_all_read({.on_message =
                       [&](Connection& connection, Buffer& input) {
                         input.clear();
                         send_some(connection, kLines);
                       },
                   .on_writable = [&](Connection& connection) { send_some(connection, kLines); }});
}

TEST_P(SmallSendsThatWait, some_in_each_turn_while_below_the_mark) {
  expect_all_read({.on_message =
                       [&](Connection& connection, Buffer& input) {
                         input.clear();
                         send_in_tasks(connection);
                       },
                   .on_writable = [&](Connection& connection) { send_in_tasks(connection); }});
}

PEAL_TEST_ON_EVERY_ENGINE(SmallSendsThatWait);

class SmallSendsThatDoNotWait : public test::SteppedLoopTest {
 protected:
  using SendLine = bool (*)(Connection&, std::string_view);
  static constexpr size_t kDefaultLimit = ConnectionOptions().output_limit_bytes;
  static constexpr size_t kLowLimit = 256 * 1024;

  void TearDown() override {
    members_.clear();
    peers_.clear();
    server_.reset();
    SteppedLoopTest::TearDown();
  }

  // Sends all lines to one peer, `lines_a_turn` of them in each turn, and expects that the peer gets them.
  void expect_all_read(size_t lines_a_turn, size_t limit_bytes, SendLine send_line) {
    ASSERT_TRUE(gather(1, limit_bytes, [](Connection&) {}));
    PeakOfBlocks peak;
    NumberedLines lines(kLines);
    auto send_some = [&](Connection& connection) {
      for (size_t i = 0; i < lines_a_turn && !lines.over(); ++i) send_line(connection, lines.next());
      peak.look();
    };
    while (!lines.over()) {
      loop().post([&] { members_[0].run(send_some); });
      ASSERT_TRUE(turn());
    }
    expect_read(NumberedLines::all(kLines));
    // The lines of one turn leave in the next.
    EXPECT_LE(peak.bytes(), PeakOfBlocks::of_lines(2 * lines_a_turn));
  }
  // Sends the word of each member to all members, a line for each. There are fewer lines, because each may be a system
  // call of its own.
  void expect_chat_read(size_t members) {
    const size_t rounds = kLines / 4 / members / members;
    std::optional<PeakOfBlocks> peak;
    NumberedLines lines(rounds * members);
    size_t spoken = 0;
    ASSERT_TRUE(gather(members, kDefaultLimit, [&](Connection&) {
      const std::string line(lines.next());
      ++spoken;
      for (const ConnectionHandle& member : members_) member.send(Buffer(line));
      peak->look();
    }));
    peak.emplace();
    for (size_t round = 1; round <= rounds; ++round) {
      for (RawPeer& peer : peers_) peer.send("?");
      while (spoken < round * members) ASSERT_TRUE(turn());
    }
    expect_read(NumberedLines::all(rounds * members));
    // The lines of one round leave before the next round is over.
    EXPECT_LE(peak->bytes(), PeakOfBlocks::of_lines(2 * members * members));
  }

 private:
  // Connects `peers` peers. `on_word` is called when one of them sends something.
  testing::AssertionResult gather(size_t peers, size_t limit_bytes, std::function<void(Connection&)> on_word) {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [this](Connection& connection) { members_.push_back(connection.handle()); };
    callbacks.on_message = [on_word = std::move(on_word)](Connection& connection, Buffer& input) {
      input.clear();
      on_word(connection);
    };
    callbacks.on_close = [this](Connection&, CloseReason reason) { end_ = reason; };
    server_ = std::make_unique<Server>(loop(), std::move(callbacks),
                                       ServerOptions{.connection = {.output_limit_bytes = limit_bytes}});
    const SocketAddress address = server_->listen("127.0.0.1:0").value();
    while (peers_.size() < peers) peers_.emplace_back().connect(address);
    while (members_.size() < peers) {
      if (auto turned = turn(); !turned) return turned;
    }
    return testing::AssertionSuccess();
  }
  // Runs one turn of the loop. Then the peers read all that the kernel was given.
  testing::AssertionResult turn() {
    loop().step();
    for (;;) {
      size_t received = 0;
      std::vector<pollfd> entries;
      for (RawPeer& peer : peers_) {
        if (!end_ && !peer.pump()) return testing::AssertionFailure() << "a peer's connection ended";
        received += peer.received().size();
        entries.push_back({.fd = peer.fd(), .events = POLLIN, .revents = 0});
      }
      if (end_) return testing::AssertionFailure() << received << " bytes were read, then: " << to_string(*end_);
      if (received >= loop().engine().stats().sent_bytes) return testing::AssertionSuccess();
      if (::poll(entries.data(), entries.size(), 10'000) <= 0)
        return testing::AssertionFailure() << "for 10 s nothing came";
    }
  }
  // Expects that every peer reads `wanted`, as soon as the rest has been sent.
  void expect_read(const std::string& wanted) {
    while (!std::ranges::all_of(peers_, [&](RawPeer& peer) { return peer.received().size() >= wanted.size(); })) {
      loop().post([] {});
      ASSERT_TRUE(turn());
    }
    for (RawPeer& peer : peers_) EXPECT_TRUE(same_bytes(peer.received(), wanted));
  }

  std::unique_ptr<Server> server_;
  std::vector<ConnectionHandle> members_;
  std::deque<RawPeer> peers_;
  std::optional<CloseReason> end_;  // how a connection ended before the test's own end
};

TEST_P(SmallSendsThatDoNotWait, hundred_a_turn_moved) { expect_all_read(100, kDefaultLimit, send_moved); }
TEST_P(SmallSendsThatDoNotWait, hundred_a_turn_copied) { expect_all_read(100, kDefaultLimit, send_copied); }
TEST_P(SmallSendsThatDoNotWait, hundred_a_turn_below_a_low_limit) { expect_all_read(100, kLowLimit, send_moved); }
TEST_P(SmallSendsThatDoNotWait, thousand_a_turn_below_a_low_limit) { expect_all_read(1000, kLowLimit, send_moved); }
TEST_P(SmallSendsThatDoNotWait, each_word_of_a_chat_to_each_member) { expect_chat_read(32); }

PEAL_TEST_ON_EVERY_ENGINE(SmallSendsThatDoNotWait);

}  // namespace
}  // namespace peal
