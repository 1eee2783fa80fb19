// SPDX-License-Identifier: BSD-3-Clause
// Two sides that both had much to send waited for each other for ever. Each side stopped reading while its own output
// was above the high-water mark, so neither queue could drain:
// - A client that sent 16 MiB to an echo got nothing back.
// - A coroutine that wrote in one task and read in another hung.
// - A server with callbacks that always had more to send never received anything from its client.
//
// After one to two write windows the connection was reset, with the reason "the peer read too slowly". Now a client and
// a stream keep reading, and a server with callbacks pauses reading only if input has arrived since its last such
// pause. httpx#30 and rust-yamux#104 tell the same story.
#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <peal/coro/co_server.h>
#include <peal/coro/connect.h>
#include <peal/coro/when.h>
#include <peal/net/client.h>
#include <tests/support/net_rig.h>
#include <tests/support/sanitized.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

constexpr size_t kMuchBytes = kSanitized ? 4'000'000 : 12'000'000;  // more than the kernel's buffers hold

const ServerOptions& small_buffers() {
  static const ServerOptions options{
      .listen = {.socket = {.send_buffer_bytes = 32 * 1024, .receive_buffer_bytes = 32 * 1024}}};
  return options;
}

// Sends `to_send` bytes, as many at a time as send() accepts, and counts the bytes that arrive.
struct Talker {
  size_t to_send = kMuchBytes;
  size_t heard = 0;

  void say_more(Connection& connection) {
    while (to_send > 0) {
      const size_t piece = std::min<size_t>(to_send, 100'000);
      to_send -= piece;
      if (!connection.send(std::string(piece, 'x'))) return;
    }
  }
  void hear(Buffer& input) {
    heard += input.size();
    input.clear();
  }
};

class TwoSidesWrite : public test::NetTest {};

TEST_P(TwoSidesWrite, client_that_sends_much_to_an_echo_gets_all_of_it) {
  auto server = serve(test::echoing(), small_buffers());
  std::atomic<size_t> heard = 0;
  Client client(loop(), {.on_open = [](Connection& connection) { connection.send(std::string(kMuchBytes, 'x')); },
                         .on_message =
                             [&](Connection&, Buffer& input) {
                               heard += input.size();
                               input.clear();
                             }});
  ASSERT_TRUE(client.connect(address()));
  EXPECT_TRUE(wait_until([&] { return heard == kMuchBytes; })) << heard;
}

TEST_P(TwoSidesWrite, callbacks_that_obey_backpressure_get_all_of_each_others_output) {
  Talker here;
  Talker there;
  auto server = serve({.on_open = [&](Connection& connection) { here.say_more(connection); },
                       .on_message = [&](Connection&, Buffer& input) { here.hear(input); },
                       .on_writable = [&](Connection& connection) { here.say_more(connection); }},
                      small_buffers());
  Client client(loop(), {.on_open = [&](Connection& connection) { there.say_more(connection); },
                         .on_message = [&](Connection&, Buffer& input) { there.hear(input); },
                         .on_writable = [&](Connection& connection) { there.say_more(connection); }});
  ASSERT_TRUE(client.connect(address()));
  EXPECT_TRUE(wait_until([&] { return here.heard == kMuchBytes && there.heard == kMuchBytes; }))
      << here.heard << " and " << there.heard;
}

// The output of the server never ends, so its queue is full whenever input arrives.
TEST_P(TwoSidesWrite, server_that_always_has_more_to_send_hears_its_client) {
  constexpr size_t kWords = 1'000'000;
  Talker here{.to_send = SIZE_MAX};
  auto server = serve({.on_open = [&](Connection& connection) { here.say_more(connection); },
                       .on_message = [&](Connection&, Buffer& input) { here.hear(input); },
                       .on_writable = [&](Connection& connection) { here.say_more(connection); }},
                      small_buffers());
  Client client(loop(), {.on_open = [](Connection& connection) { connection.send(std::string(kWords, 'x')); },
                         .on_message = [](Connection&, Buffer& input) { input.clear(); }});
  ASSERT_TRUE(client.connect(address()));
  EXPECT_TRUE(wait_until([&] { return here.heard == kWords; })) << here.heard;
}

Task<> write_much(Stream& stream) {
  const std::string piece(100'000, 'x');
  for (size_t left = kMuchBytes; left > 0; left -= piece.size()) {
    if (!co_await stream.write(piece)) co_return;
  }
}

Task<> read_much(Stream& stream, size_t& heard) {
  while (heard < kMuchBytes) {
    auto input = co_await stream.read();
    if (!input || input->empty()) co_return;
    heard += input->size();
  }
}

TEST_P(TwoSidesWrite, coroutine_that_writes_in_one_task_and_reads_in_another) {
  auto server = serve(test::echoing(), small_buffers());
  size_t heard = 0;
  std::atomic<bool> over = false;
  std::optional<Scope> scope;
  ask([&] {
    scope.emplace(loop());
    scope->spawn([](std::string where, size_t& all, std::atomic<bool>& done) -> Task<> {
      auto stream = co_await connect(where);
      if (stream) co_await when_all(write_much(*stream), read_much(*stream, all));
      done = true;
    }(address().to_string(), heard, over));
  });
  EXPECT_TRUE(wait_until([&] { return over.load(); }));
  EXPECT_EQ(ask([&] { return heard; }), kMuchBytes);
  ask([&] {
    scope->cancel();
    scope.reset();
  });
}

PEAL_TEST_ON_EVERY_ENGINE(TwoSidesWrite);

class SimTwoSidesWrite : public test::SimTest {};

// Both sides stop reading while their output is full, and both answer each piece with two. So both stop reading for
// good. The write window ends the connection, and the reason of the end does not blame the peer alone.
TEST_F(SimTwoSidesWrite, end_with_the_reason_that_neither_side_reads) {
  on_seeds(20, rough(), [](test::SimPair& pair) {
    const ConnectionOptions pausing{.when_output_is_full = WhenOutputIsFull::kPauseInput,
                                    .write_window = std::chrono::seconds(10)};
    std::optional<CloseReason> first;
    const auto answer_twice = [](Connection& connection, Buffer& input) {
      const std::string piece = input.to_string();
      input.clear();
      connection.send(piece);
      connection.send(piece);
    };
    const auto note = [&](Connection&, CloseReason why) { first = first.value_or(why); };
    Server server(*pair.here, {.on_message = answer_twice, .on_close = note}, {.connection = pausing});
    Client client(*pair.there,
                  {.on_open = [](Connection& connection) { connection.send(std::string(100'000, 'x')); },
                   .on_message = answer_twice,
                   .on_close = note},
                  {.connection = pausing});
    ASSERT_TRUE(client.connect(pair.listen(server)));
    ASSERT_TRUE(pair.run_until([&] { return first.has_value(); }));
    EXPECT_EQ(*first, CloseReason::kNeitherRead);
  });
}

}  // namespace
}  // namespace peal
