// SPDX-License-Identifier: BSD-3-Clause
// Opens and closes many connections, and checks that they leave no fd, no block and no memory behind. The two sides do
// this in ten different orders (enum Order). Clients and server share one loop.
//
// PEAL_CHURN_CONNECTIONS is the number of connections. `make churn` sets a million; the default is 6,000.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include <fmt/format.h>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

size_t wanted_connections() {
  const char* text = std::getenv("PEAL_CHURN_CONNECTIONS");
  return text == nullptr ? 6'000 : std::strtoull(text, nullptr, 10);
}

uint64_t resident_bytes() {
  uint64_t all = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// The acts of client and server once they are connected. The client sends the letter as its request, so that the server
// knows the order.
enum class Order : char {
  kClientCloses = 'a',       // the client closes after the answer
  kServerCloses = 'b',       // the server closes with the answer
  kBothClose = 'c',          // each side closes as soon as it has sent its message
  kClientResets = 'd',       // the client resets after the answer
  kServerResets = 'e',       // the server resets when the request arrives
  kClientLeavesFirst = 'f',  // the client sends its request and closes; the answer arrives after that
  kResetWithRequest = 'g',   // the client sends the request and RST together
  kSilent = 'h',             // the client closes without a request
  kLongAnswer = 'i',         // the client resets in the middle of a long answer
  kThrows = 'j',             // the callback of the server throws
};
constexpr size_t kOrders = 10;

class ChurnOrdersTest : public test::NetTest {
 protected:
  struct Facts {
    size_t fds;
    uint64_t blocks;
    uint64_t resident_bytes;
  };
  Facts facts() {
    return ask([] { return Facts{count_open_fds(), BlockPool::here().stats().blocks_in_use, resident_bytes()}; });
  }

  ConnectionCallbacks serving() {
    return {.on_message = [this](Connection& connection, Buffer& input) {
      const auto order = static_cast<Order>(input.view(1).front());
      input.clear();
      if (order == Order::kServerResets) return connection.abort();
      if (order == Order::kThrows) throw std::runtime_error("as asked");
      connection.send(order == Order::kLongAnswer ? long_answer_ : short_answer_);
      if (order == Order::kServerCloses || order == Order::kBothClose) connection.close();
    }};
  }
  ConnectionCallbacks visiting(Order order, size_t slot) {
    return {.on_open =
                [order](Connection& connection) {
                  if (order == Order::kSilent) return connection.close();
                  connection.send(std::string_view(reinterpret_cast<const char*>(&order), 1));
                  if (order == Order::kBothClose || order == Order::kClientLeavesFirst) connection.close();
                  if (order == Order::kResetWithRequest) connection.abort();
                },
            .on_message =
                [order](Connection& connection, Buffer& input) {
                  input.clear();
                  if (order == Order::kClientCloses) connection.close();
                  if (order == Order::kClientResets || order == Order::kLongAnswer) connection.abort();
                },
            .on_close =
                [this, slot](Connection&, CloseReason) {
                  ++gone_;
                  free_.push_back(slot);
                }};
  }

  // Runs on the loop's thread. Opens new connections until 64 (kAtOnce) are open, or until none is left to begin. The
  // clients use many source addresses: each address has a limited number of ports, and the ports of closed connections
  // stay in TIME_WAIT.
  void begin_visits() {
    while (left_ > 0 && begun_ - gone_ - failed_ < kAtOnce) {
      const size_t number = begun_++;
      const size_t slot = free_.back();
      free_.pop_back();
      --left_;
      ClientOptions options;
      options.connect.source = address_of(fmt::format("127.0.{}.{}:0", number / 200 % 200, 1 + number % 200));
      slots_[slot] = std::make_unique<Client>(loop(), visiting(static_cast<Order>('a' + number % kOrders), slot),
                                              options, [this, slot](std::error_code error, Duration) {
                                                ++failed_;
                                                last_error_ = error;
                                                free_.push_back(slot);
                                              });
      ASSERT_TRUE(slots_[slot]->connect(address()));
    }
  }
  void visit(size_t count) {
    ask([&] { left_ = count; });
    ASSERT_TRUE(ask([this] {
      timer_ = loop().every(std::chrono::milliseconds(1), [this] { begin_visits(); });
      return static_cast<bool>(timer_);
    }));
    size_t before = 0;
    // Waits for 2,000 connections at a time. Each wait has a time limit, and a million connections would take longer.
    while (!ask([this] { return left_ == 0 && gone_ + failed_ == begun_; })) {
      const size_t aim = std::min(before + 2'000, ask([&] { return begun_ + left_; }));
      ASSERT_TRUE(wait_until([&] { return gone_ + failed_ >= aim; })) << gone_ << " of " << begun_;
      before = ask([this] { return gone_ + failed_; });
    }
    ask([this] {
      loop().cancel(timer_);
      for (auto& slot : slots_) slot.reset();
    });
  }

  static constexpr size_t kAtOnce = 64;
  const SharedBytes short_answer_ = share_bytes("answer");
  const SharedBytes long_answer_ = share_bytes(pattern(200'000));
  // A slot is free when the connection of its client has ended. The next connection replaces that client.
  std::array<std::unique_ptr<Client>, kAtOnce> slots_;
  std::vector<size_t> free_ = [] {
    std::vector<size_t> all(kAtOnce);
    std::iota(all.begin(), all.end(), size_t{0});
    return all;
  }();
  TimerId timer_;
  size_t left_ = 0;
  size_t begun_ = 0;
  size_t gone_ = 0;
  size_t failed_ = 0;
  std::error_code last_error_;
};

TEST_P(ChurnOrdersTest, every_order_of_opening_and_closing_leaves_nothing_behind) {
  const size_t count = wanted_connections();
  auto server = serve(serving());
  auto at_rest = [&] { return server->connections() == 0; };
  // Lets the pools, the tables and the allocator grow to their final sizes.
  visit(2'000);
  ASSERT_TRUE(wait_until(at_rest));
  const Facts before = facts();
  visit(count);
  ASSERT_TRUE(wait_until(at_rest));
  const Facts after = facts();
  EXPECT_EQ(after.fds, before.fds);
  EXPECT_EQ(after.blocks, before.blocks);
  // The limit allows for fragments of the allocator. A leak of a few bytes for each of a million connections would
  // exceed it. Only `make churn` checks this, because a sanitizer keeps freed memory.
  constexpr uint64_t kSlackBytes = 1024 * 1024;
  if (std::getenv("PEAL_CHURN_CONNECTIONS") != nullptr) {
    EXPECT_LE(after.resident_bytes, before.resident_bytes + kSlackBytes);
  }
  EXPECT_EQ(failed_, 0u) << last_error_.message();
  EXPECT_EQ(server->stats().opened, server->stats().closed);
  fmt::print("{} connections on {}: fds {} -> {}, blocks {} -> {}, resident KiB {} -> {}\n", count, GetParam(),
             before.fds, after.fds, before.blocks, after.blocks, before.resident_bytes / 1024,
             after.resident_bytes / 1024);
}

PEAL_TEST_ON_EVERY_ENGINE(ChurnOrdersTest);

}  // namespace
}  // namespace peal
