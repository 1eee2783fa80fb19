// SPDX-License-Identifier: BSD-3-Clause
// Tests of a server's coroutine that starts the layer of a plain stream. The peers are raw sockets, for which the test
// writes every byte: the plaintext, the beginning of the layer, and bytes that do not belong there.
#include <string>

#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <tests/support/sealed/later_stream.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::kGoAndHello;
using test::sealed_text;
using test::SealedPeer;
using test::told;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

class StreamStartLayerTest : public test::LaterStreamTest {};

TEST_P(StreamStartLayerTest, what_is_read_and_written_then_goes_over_it) {
  serve_later([this](Stream stream) -> Task<> {
    journal.add(told(co_await start(stream)));
    EXPECT_TRUE(stream.is_open());
    EXPECT_EQ(stream.connection()->layer_facts().value().protocol, "sealed");
    for (;;) {
      auto line = co_await stream.read_until("\n");
      journal.add(told(line));
      if (!line || line->empty()) break;
      co_await stream.write(std::move(*line));
    }
  });
  RawPeer peer = connect_peer();
  peer.send("start\n");
  ASSERT_TRUE(hears(peer, kGoAndHello));
  SealedPeer sealed(std::move(peer), 3);
  sealed.send("one\ntw");
  sealed.send("o\n");
  ASSERT_TRUE(hears_sealed(sealed, "one\ntwo\n"));
  sealed.raw.send(test::kEndMark);
  sealed.raw.fin();
  ASSERT_TRUE(noted("end"));
  EXPECT_THAT(journal.lines(), ElementsAre("start\n", "done", "one\n", "two\n", "end"));
}

TEST_P(StreamStartLayerTest, what_was_written_leaves_in_the_clear_and_what_waits_to_be_goes_over_it) {
  serve_later(
      [this](Stream stream) -> Task<> {
        const std::string much(kMuch, 'x');
        auto clear = [&]() -> Task<> { journal.add("first " + told(co_await stream.write(much))); };
        auto waits = [&]() -> Task<> { return note_write(stream, "waits "); };
        auto flushes = [&]() -> Task<> { return note_flush(stream); };
        auto starts = [&]() -> Task<> { return note_start(stream); };
        auto comes_later = [&]() -> Task<> { return note_write(stream, "and more"); };
        auto reads = [&]() -> Task<> { return note_read(stream); };
        journal.add("waiting");
        co_await when_all(clear(), waits(), flushes(), starts(), comes_later(), reads());
        journal.add("over");
      },
      {.high_water_bytes = 1000, .handshake_timeout = kNotInThisTest});
  RawPeer peer = connect_peer(4096);
  ASSERT_TRUE(noted("waiting"));
  std::string clear(kMuch, 'x');
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return peer.received().size() > kMuch;
  }));
  EXPECT_TRUE(same_bytes(peer.received(), clear + std::string(test::kSealHello)));
  EXPECT_THAT(journal.lines(), ElementsAre("waiting")) << "before the handshake";
  SealedPeer sealed(std::move(peer), kMuch);
  ASSERT_TRUE(hears_sealed(sealed, "waits and more"));
  ASSERT_TRUE(noted("flush done"));
  sealed.send("?");
  ASSERT_TRUE(noted("over"));
  EXPECT_EQ(journal.count("write done"), 2u);
  EXPECT_EQ(journal.count("start done"), 1u);
  EXPECT_EQ(journal.count("read ?"), 1u);
  EXPECT_EQ(journal.count("first done"), 1u);
  EXPECT_EQ(journal.lines().size(), 8u);
}

// CVE-2011-0411: plaintext that an attacker has appended to the line must not be read as a command that came over the
// layer.
TEST_P(StreamStartLayerTest, plaintext_injected_behind_the_line_is_never_read) {
  for (const std::string_view injected : {"e", "evil\n", "evil\nand more\nof it\n"}) {
    for (const bool at_once : {true, false}) {
      serve_later([this](Stream stream) -> Task<> {
        auto starts = [&]() -> Task<> { journal.add("start " + told(co_await start(stream))); };
        co_await starts();
        journal.add("line " + told(co_await stream.read_until("\n")));
        journal.add("read " + told(co_await stream.read()));
        journal.add("write " + told(co_await stream.write("secret")));
        journal.add("again " + told(co_await stream.start_layer()));
        EXPECT_EQ(stream.close_reason(), CloseReason::kFailed);
        journal.add("over");
      });
      RawPeer peer = connect_peer();
      if (at_once) {
        peer.send("start\n" + std::string(injected));
      } else {
        peer.send("start\n");
        ASSERT_TRUE(hears(peer, kGoAndHello));
        peer.send(injected);
      }
      EXPECT_TRUE(ends(peer));
      EXPECT_TRUE(kGoAndHello.starts_with(peer.received())) << peer.received();
      ASSERT_TRUE(noted("over"));
      EXPECT_EQ(server().stats().handshakes_failed, 1u);
      const std::string failed = told(test::no_seal_hello());
      EXPECT_THAT(news(), ElementsAre("start\n", "start " + failed, "line " + failed, "read " + failed,
                                      "write " + failed, "again " + failed, "over"));
      end_server();
    }
  }
}

// Unread input belongs to the layer when another coroutine starts it, even if it is half of a message.
TEST_P(StreamStartLayerTest, reader_that_waits_meanwhile_gets_what_comes_over_it) {
  for (const std::string_view kind : {"line", "bytes", "any"}) {
    serve_later([this, kind](Stream stream) -> Task<> {
      auto reads = [&]() -> Task<> {
        if (kind == "line") journal.add("read " + told(co_await stream.read_until("\n")));
        if (kind == "bytes") journal.add("read " + told(co_await stream.read_exactly(6)));
        if (kind == "any") co_await note_read(stream);
      };
      auto starts = [&]() -> Task<> {
        const size_t wanted = kind == "any" ? 0 : 5;
        while (stream.connection()->received_bytes() < wanted) co_await sleep(milliseconds(1));
        co_await note_start(stream);
      };
      co_await when_all(reads(), starts());
      journal.add("over");
    });
    const std::string all = std::string(test::kSealHello) + sealed_text("a\nmore");
    RawPeer peer = connect_peer();
    if (kind != "any") peer.send(std::string_view(all).substr(0, 5));
    ASSERT_TRUE(hears(peer, test::kSealHello));
    peer.send(std::string_view(all).substr(kind == "any" ? 0 : 5));
    ASSERT_TRUE(noted("over")) << kind;
    EXPECT_THAT(news(), UnorderedElementsAre(kind == "line" ? "read a\n" : "read a\nmore", "start done", "over"));
    end_server();
  }
}

TEST_P(StreamStartLayerTest, starts_once) {
  serve_later([this](Stream stream) -> Task<> {
    auto first = [&]() -> Task<> { return note_start(stream); };
    auto second = [&]() -> Task<> { return note_start(stream); };
    co_await when_all(first(), second());
    journal.add("later " + told(co_await stream.start_layer()));
    co_await stream.write("stands");
    co_await stream.read();
  });
  SealedPeer peer(connect_peer());
  ASSERT_TRUE(hears_sealed(peer, "stands"));
  EXPECT_THAT(news(), ElementsAre("start " + told(EALREADY), "start done", "later " + told(EALREADY)));
}

PEAL_TEST_ON_EVERY_ENGINE(StreamStartLayerTest);

}  // namespace
}  // namespace peal
