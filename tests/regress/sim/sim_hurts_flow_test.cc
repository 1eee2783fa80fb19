// SPDX-License-Identifier: BSD-3-Clause
// Simulator tests for answers that a half-close cuts off, for memory that slow readers hold, and for writes of two
// coroutines that interleave. half_close_..., slow_readers_... and writes_of_two_coroutines_test.cc test the other
// engines.
#include <algorithm>
#include <deque>
#include <string>

#include <peal/base/memory/memory_budget.h>
#include <peal/coro/co_server.h>
#include <peal/coro/when.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::seconds;

char byte_at(size_t at) { return static_cast<char>((at * 131 + at / 251) % 253); }

class SimHalfClose : public test::SimTest {
 protected:
  void take_answer(test::SimPair& pair, Server& server, size_t size) {
    size_t got = 0;
    bool intact = true;
    bool closed = false;
    Client client(*pair.there, {.on_open =
                                    [](Connection& connection) {
                                      connection.send("?");
                                      connection.shutdown_send();
                                    },
                                .on_message =
                                    [&](Connection&, Buffer& input) {
                                      for (; !input.empty(); input.consume(input.front().size())) {
                                        for (char byte : input.front()) intact &= byte == byte_at(got++);
                                      }
                                    },
                                .on_close = [&](Connection&, CloseReason) { closed = true; }});
    ASSERT_TRUE(client.connect(pair.listen(server)));
    EXPECT_TRUE(pair.run_until([&] { return closed && server.connections() == 0; }));
    EXPECT_EQ(got, size);
    EXPECT_TRUE(intact);
  }
  static std::string answer_of(size_t size) {
    std::string answer(size, '\0');
    for (size_t i = 0; i < size; ++i) answer[i] = byte_at(i);
    return answer;
  }
  static ConnectionCallbacks in_one_piece(const std::string& answer) {
    return {.on_message =
                [&](Connection& connection, Buffer& input) {
                  input.clear();
                  connection.send(answer);
                },
            .on_close = [](Connection&, CloseReason reason) { EXPECT_EQ(reason, CloseReason::kPeerClosed); }};
  }
};

TEST_F(SimHalfClose, answer_of_60_MB_in_one_piece) {
  const std::string answer = answer_of(60'000'000);
  on_seeds(1, {}, [&](test::SimPair& pair) {
    Server server(*pair.here, in_one_piece(answer));
    take_answer(pair, server, answer.size());
  });
}

TEST_F(SimHalfClose, answers_in_a_rough_world) {
  const std::string answer = answer_of(100'000);
  on_seeds(200, rough(), [&](test::SimPair& pair) {
    Server server(*pair.here, in_one_piece(answer));
    take_answer(pair, server, answer.size());
  });
}

TEST_F(SimHalfClose, answers_piece_by_piece_under_backpressure) {
  const std::string answer = answer_of(100'000);
  on_seeds(200, rough(), [&](test::SimPair& pair) {
    size_t sent = 0;
    auto send_more = [&](Connection& connection) {
      bool more = true;
      while (more && sent < answer.size()) {
        const size_t size = std::min<size_t>(7'000, answer.size() - sent);
        more = connection.send(std::string_view(answer).substr(sent, size));
        sent += size;
      }
      if (sent == answer.size()) connection.close();
    };
    Server server(*pair.here,
                  {.on_message = [](Connection&, Buffer& input) { input.clear(); },
                   .on_writable = send_more,
                   .on_peer_end = send_more,
                   .on_close = [](Connection&, CloseReason reason) { EXPECT_EQ(reason, CloseReason::kLocal); }},
                  {.connection = {.high_water_bytes = 16 * 1024}});
    take_answer(pair, server, answer.size());
  });
}

constexpr uint64_t kMebibyte = 1 << 20;
constexpr size_t kSimClients = 24;

class SimMemoryUnderAttack : public test::SimTest {
 protected:
  void SetUp() override {
    test::SimTest::SetUp();
    BlockPool::here().trim();
    const uint64_t held = MemoryBudget::held_bytes();
    marks_ = {.soft_bytes = held + 8 * kMebibyte, .hard_bytes = held + 16 * kMebibyte};
    MemoryBudget::set(marks_);
  }

  // A client that asks for more whenever there is room, and reads nothing before read_on(). It uses the engine
  // directly, without a Connection. So only the server's connections can be paused or closed because of memory.
  class Attacker final : private StreamEvents {
   public:
    Attacker(test::SimPair& pair, const SocketAddress& target)
        : pair_(pair), engine_(pair.there->engine()), stream_(engine_.connect(target, {}, *this)) {}
    ~Attacker() {
      engine_.close(stream_);
      EXPECT_TRUE(pair_.run_until([this] { return closed_; }));
    }
    Attacker(const Attacker&) = delete;
    Attacker& operator=(const Attacker&) = delete;
    void read_on() {
      over_ = true;
      engine_.receive(stream_, true);
    }
    bool has_all() const { return got_ == asked_; }

   private:
    void on_connected(std::error_code error) override {
      EXPECT_FALSE(error);
      ask();
    }
    void on_received(Buffer& bytes) override { got_ += bytes.size(); }
    void on_receive_end(std::error_code) override {}
    void on_send_failed(std::error_code) override { over_ = true; }
    void on_sent(size_t left_bytes) override {
      if (left_bytes == 0 && !over_) ask();
    }
    void on_closed() override { closed_ = true; }
    void on_detached(LooseStream) override {}
    void ask() {
      asked_ += chunk_.size();
      engine_.send_copy(stream_, chunk_);
      engine_.report_sent(stream_);
    }

    test::SimPair& pair_;
    Engine& engine_;
    const std::string chunk_ = std::string(8 * 1024, 'x');
    bool over_ = false;
    bool closed_ = false;
    uint64_t asked_ = 0;
    uint64_t got_ = 0;
    const StreamId stream_;
  };
  struct Attack {
    Attack(test::SimPair& pair, const SocketAddress& target) {
      for (size_t i = 0; i < kSimClients; ++i) attackers.emplace_back(pair, target);
    }
    std::deque<Attacker> attackers;
  };

  // Returns the most memory that is held until done() is true or `time` is over. It is measured in each round of the
  // world.
  uint64_t most_held(test::SimPair& pair, const std::function<bool()>& done, Duration time) {
    uint64_t most = 0;
    pair.run_until(
        [&] {
          most = std::max(most, MemoryBudget::held_bytes());
          return done();
        },
        time);
    return most;
  }

  MemoryMarks marks_;
};

TEST_F(SimMemoryUnderAttack, clients_that_do_not_read_are_no_longer_read_from) {
  on_seeds(20, rough(), [&](test::SimPair& pair) {
    Server server(*pair.here,
                  {.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }},
                  {.connection = {.high_water_bytes = 8 * kMebibyte}});
    Attack attack(pair, pair.listen(server));
    EXPECT_LT(most_held(pair, [] { return false; }, seconds(3)), marks_.hard_bytes + 4 * kMebibyte);
    EXPECT_GT(server.stats().memory_pauses, 0u);
    EXPECT_EQ(server.stats().memory_closes, 0u);
    // Now the clients read. They get their echo, and paused connections continue.
    for (Attacker& attacker : attack.attackers) attacker.read_on();
    EXPECT_TRUE(pair.run_until([] { return MemoryBudget::below_low(); }, seconds(5)));
    EXPECT_TRUE(pair.run_until([&] { return std::ranges::all_of(attack.attackers, &Attacker::has_all); }, seconds(5)));
    EXPECT_EQ(server.connections(), kSimClients);
  });
}

TEST_F(SimMemoryUnderAttack, answers_without_end_are_cut_off_at_the_hard_mark) {
  on_seeds(20, rough(), [&](test::SimPair& pair) {
    Server server(*pair.here,
                  {.on_message =
                       [](Connection& connection, Buffer& input) {
                         input.clear();
                         // A careless user ignores what send() returns.
                         for (int i = 0; i < 8 && connection.is_open(); ++i) {
                           connection.send(std::string(256 * 1024, 'y'));
                         }
                       }},
                  {.connection = {.high_water_bytes = 64 * 1024}});
    const Attack attack(pair, pair.listen(server));
    EXPECT_LT(most_held(
                  pair, [&] { return server.stats().memory_closes >= 3; }, seconds(60)),
              marks_.hard_bytes + 4 * kMebibyte);
    EXPECT_GE(server.stats().memory_closes, 3u);
  });
}

TEST_F(SimMemoryUnderAttack, messages_that_never_end_are_paused_below_the_input_limit) {
  on_seeds(20, rough(), [&](test::SimPair& pair) {
    Server server(*pair.here, {.on_message = [](Connection&, Buffer&) {}});
    const Attack attack(pair, pair.listen(server));
    EXPECT_LT(most_held(pair, [] { return false; }, seconds(3)), marks_.hard_bytes + 4 * kMebibyte);
    EXPECT_GT(server.stats().memory_pauses, 0u);
  });
}

constexpr size_t kSimMessageBytes = 1500;
constexpr size_t kSimMessages = 30;

class SimTwoWriters : public test::SimTest {};

Task<> write_many(Stream& stream, char letter) {
  const std::string message(kSimMessageBytes, letter);
  for (size_t i = 0; i < kSimMessages; ++i) {
    // Alternates between a moved Buffer and a copied string, so that both overloads are used.
    Buffer moved(message);
    auto written = i % 2 == 0 ? co_await stream.write(std::move(moved)) : co_await stream.write(message);
    if (!written) co_return;
  }
}

TEST_F(SimTwoWriters, writes_of_two_coroutines_never_interleave) {
  uint64_t whole = 0;
  on_seeds(300, SimOptions::hostile(), [&](test::SimPair& pair) {
    auto serve = [](Stream stream) -> Task<> {
      co_await when_all(write_many(stream, 'a'), write_many(stream, 'b'));
      static_cast<void>(co_await stream.flush());
    };
    // The mark is so low that it is crossed again and again.
    CoServer server(*pair.here, serve, {.connection = {.high_water_bytes = 5'000}});
    std::string got;
    bool over = false;
    Client client(*pair.there,
                  {.on_message = test::hearing(got), .on_close = [&](Connection&, CloseReason) { over = true; }},
                  {.connection = {.idle_timeout = seconds(10)}}, [&](std::error_code, Duration) { over = true; });
    ASSERT_TRUE(client.connect(pair.listen(server)));
    EXPECT_TRUE(pair.run_until([&] { return over && server.server().connections() == 0; }));
    // The last message may be cut off, but the part that has arrived must be of one writer too.
    for (size_t at = 0; at < got.size(); at += kSimMessageBytes) {
      const std::string_view message = std::string_view(got).substr(at, kSimMessageBytes);
      ASSERT_EQ(message, std::string(message.size(), message.front()));
    }
    if (got.size() < 2 * kSimMessages * kSimMessageBytes) return;
    ++whole;
    EXPECT_EQ(std::ranges::count(got, 'a'), std::ranges::count(got, 'b'));
  });
  if (all_seeds()) {
    EXPECT_GT(whole, 150u);
  }
}

}  // namespace
}  // namespace peal
