// SPDX-License-Identifier: BSD-3-Clause
// A server's WebSockets, tested by a peer that sends and reads raw bytes: messages, deadlines, the end of a connection
// and its cause.
#include <peal/http/websocket/websocket.h>

#include <gmock/gmock.h>

#include <tests/support/websocket_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::BytePeer;
using test::client_frame;
using test::read_websocket;
using test::server_frame;
using testing::ElementsAre;
using enum WebSocketOpcode;

// The simulator's clock jumps to the next event, so a deadline takes no real time there.
class WebSocketSuite : public test::WebSocketTest {
 protected:
  // Waits until the peer's connection and the socket have ended. The server must have no other connection. Returns the
  // frames that the server sent to the peer.
  std::string last_words(BytePeer& peer) {
    EXPECT_TRUE(run_until([&] { return peer.ended && server().connections() == 0; }));
    return read_websocket(WebSocketRole::kClient, peer.frames(), {.limit_bytes = 1 << 24});
  }
  static std::string close_words(uint16_t code, std::string_view reason = {}) {
    return "close " + websocket_close_payload(code, reason) + "|";
  }
};

TEST_P(WebSocketSuite, messages_are_echoed_and_the_client_s_close_is_answered) {
  WebSocketCallbacks callbacks = noting();
  callbacks.on_message = [&](WebSocket& socket, WebSocketKind kind, std::string_view message) {
    EXPECT_TRUE(socket.send(kind, message));
  };
  serve(std::move(callbacks));
  BytePeer& peer = open_peer();
  EXPECT_NE(peer.received.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), std::string::npos);
  const std::string large(100'000, 'x');
  peer.send(client_frame(kText, "Hello") + client_frame(kBinary, "", false) + client_frame(kPing, "?") +
            client_frame(kContinuation, large) + client_frame(kClose, websocket_close_payload(3001, "enough")));
  EXPECT_EQ(last_words(peer), "text Hello|pong ?|binary " + large + "|" + close_words(3001));
  EXPECT_THAT(journal, ElementsAre("open", "close 3001 enough"));
}

TEST_P(WebSocketSuite, frames_that_come_with_the_handshake_are_not_lost) {
  serve(echoing());
  BytePeer& peer = connect_peer();
  peer.send(handshake() + client_frame(kText, "early") + client_frame(kClose, ""));
  EXPECT_EQ(last_words(peer), "text early|close |");
}

TEST_P(WebSocketSuite, close_from_here_waits_for_the_peer_s_and_drops_what_it_says_meanwhile) {
  WebSocketCallbacks callbacks = noting();
  callbacks.on_open = [&](WebSocket& socket) {
    socket.send_text("last");
    socket.close(WebSocketCode::kNormal, "bye");
    EXPECT_FALSE(socket.send_text("too late"));
    EXPECT_FALSE(socket.is_open());
    socket.close(4000);
  };
  serve(std::move(callbacks));
  BytePeer& peer = open_peer();
  settle();
  EXPECT_TRUE(journal.empty());
  peer.send(client_frame(kText, "not heard") + client_frame(kPing, "") +
            client_frame(kClose, websocket_close_payload(1000, "bye too")));
  EXPECT_EQ(last_words(peer), "text last|" + close_words(1000, "bye"));
  EXPECT_THAT(journal, ElementsAre("close 1000 bye too"));
}

TEST_P(WebSocketSuite, a_peer_that_never_answers_the_close_is_cut_off) {
  WebSocketCallbacks callbacks = noting();
  callbacks.on_open = [](WebSocket& socket) { socket.close(); };
  serve(std::move(callbacks), {.socket = {.close_timeout = milliseconds(30)}});
  EXPECT_EQ(last_words(open_peer()), close_words(1000));
  EXPECT_THAT(journal, ElementsAre("close 1006 the peer did not answer the close in time"));
}

TEST_P(WebSocketSuite, violations_are_told_with_their_code) {
  serve(noting(), {.socket = {.message_limit_bytes = 1000}});
  const struct {
    std::string bytes;
    uint16_t code;
    std::string_view why;
  } cases[] = {
      {server_frame(kText, "x"), 1002, "a client's frame without a mask"},
      {"\x83\x80zzzz", 1002, "an unknown opcode"},
      {client_frame(kContinuation, "x"), 1002, "a continuation frame outside a message"},
      {client_frame(kClose, "\x03\xed"), 1002, "a close code that must not be sent"},
      {client_frame(kText, "\xff"), 1007, "text that is not UTF-8"},
      {client_frame(kText, std::string(1001, 'x')), 1009, "a message beyond the limit"},
  };
  for (const auto& violation : cases) {
    journal.clear();
    BytePeer& peer = open_peer();
    // Frames after a fault are ignored.
    peer.send(client_frame(kText, "good") + violation.bytes + client_frame(kText, "behind"));
    EXPECT_EQ(last_words(peer), close_words(violation.code, violation.why));
    EXPECT_THAT(journal, ElementsAre("open", "text good",
                                     "close " + std::to_string(violation.code) + " " + std::string(violation.why)));
  }
}

TEST_P(WebSocketSuite, ends_without_a_close_frame_are_1006) {
  serve(noting());
  open_peer().connection().close();
  ASSERT_TRUE(run_until([&] { return journal.size() == 2; }));
  open_peer().connection().abort();
  ASSERT_TRUE(run_until([&] { return journal.size() == 4; }));
  EXPECT_THAT(journal, ElementsAre("open", "close 1006 closed by the peer", "open", "close 1006 reset by the peer"));
}

TEST_P(WebSocketSuite, a_silent_peer_is_pinged_and_cut_off_when_no_answer_comes) {
  serve(noting(), {.socket = {.ping_interval = milliseconds(20), .pong_timeout = milliseconds(30)}});
  EXPECT_EQ(last_words(open_peer()), "ping |");
  EXPECT_THAT(journal, ElementsAre("open", "close 1006 the peer did not answer a ping in time"));
}

TEST_P(WebSocketSuite, a_peer_that_answers_pings_lives_on) {
  serve(noting(), {.socket = {.ping_interval = milliseconds(10), .pong_timeout = std::chrono::seconds(5)}});
  BytePeer& peer = open_peer();
  for (size_t pings = 1; pings <= 3; ++pings) {
    ASSERT_TRUE(run_until([&] { return peer.frames().size() >= 2 * pings; }));
    EXPECT_EQ(peer.frames().substr(2 * pings - 2, 2), server_frame(kPing, ""));
    peer.send(client_frame(kPong, ""));
    ASSERT_TRUE(run_until([&] { return count("pong ") == pings; }));
  }
  EXPECT_FALSE(peer.ended);
}

TEST_P(WebSocketSuite, an_idle_socket_is_closed_though_it_answers_pings) {
  serve(noting(), {.socket = {.ping_interval = milliseconds(10), .idle_timeout = milliseconds(60)}});
  BytePeer& peer = open_peer();
  size_t answered = 0;
  ASSERT_TRUE(run_until([&] {
    const std::string_view frames = peer.frames();
    for (; frames.substr(2 * answered).starts_with(server_frame(kPing, "")); ++answered) {
      peer.send(client_frame(kPong, ""));
    }
    return frames.size() > 2 * answered;
  }));
  peer.send(client_frame(kClose, websocket_close_payload(1001, "")));
  EXPECT_TRUE(last_words(peer).ends_with(close_words(1001, "idle for too long")));
  EXPECT_EQ(count("close 1001 "), 1u);
}

TEST_P(WebSocketSuite, pings_of_one_s_own_are_answered) {
  WebSocketCallbacks callbacks = noting();
  callbacks.on_open = [](WebSocket& socket) { EXPECT_TRUE(socket.ping("marco")); };
  serve(std::move(callbacks));
  BytePeer& peer = open_peer();
  ASSERT_TRUE(run_until([&] { return peer.frames() == server_frame(kPing, "marco"); }));
  peer.send(client_frame(kPong, "marco"));
  EXPECT_TRUE(run_until([&] { return count("pong marco") == 1; }));
}

TEST_P(WebSocketSuite, a_message_sent_as_a_stream_of_fragments) {
  serve({.on_open = [](WebSocket& socket) {
    socket.begin_message(WebSocketKind::kText);
    socket.write("one ");
    socket.ping("between");
    socket.write("two ");
    socket.end_message("three");
    socket.begin_message(WebSocketKind::kBinary);
    socket.end_message();
  }});
  BytePeer& peer = open_peer();
  const std::string expected = server_frame(kText, "one ", false) + server_frame(kPing, "between") +
                               server_frame(kContinuation, "two ", false) + server_frame(kContinuation, "three") +
                               server_frame(kBinary, "");
  EXPECT_TRUE(run_until([&] { return peer.frames() == expected; })) << peer.frames();
}

TEST_P(WebSocketSuite, a_paused_socket_hears_nothing_until_it_is_resumed) {
  WebSocketHandle handle;
  WebSocketCallbacks callbacks = noting();
  callbacks.on_message = [&](WebSocket& socket, WebSocketKind, std::string_view message) {
    journal.push_back("text " + std::string(message));
    if (message == "one") socket.pause();
    handle = socket.handle();
  };
  // While the socket is paused, the peer does not count as silent.
  serve(std::move(callbacks), {.socket = {.ping_interval = milliseconds(1), .pong_timeout = milliseconds(1)}});
  BytePeer& peer = connect_peer();
  // Both messages arrive with the handshake, so the socket is paused before the first ping, however slow the machine
  // is.
  peer.send(handshake() + client_frame(kText, "one") + client_frame(kText, "two"));
  ASSERT_TRUE(run_until([&] { return count("text one") == 1; }));
  peer.send(client_frame(kText, "three"));
  settle();
  EXPECT_EQ(count("text two"), 0u);
  handle.run([](WebSocket& socket) { socket.resume(); });
  ASSERT_TRUE(run_until([&] { return count("text three") == 1; }));
  EXPECT_THAT(journal, ElementsAre("open", "text one", "text two", "text three"));
}

TEST_P(WebSocketSuite, send_answers_false_above_the_mark_and_writable_comes_below) {
  bool below = true;
  size_t sent = 0;
  const std::string message(10'000, 'm');
  WebSocketCallbacks callbacks = noting();
  callbacks.on_open = [&](WebSocket& socket) {
    for (; below; ++sent) below = socket.send_text(message);
  };
  callbacks.on_writable = [&](WebSocket& socket) {
    journal.push_back("writable");
    below = socket.send_text("the end");
  };
  serve(std::move(callbacks), {}, {.high_water_bytes = 2'000'000});
  BytePeer& peer = open_peer();
  ASSERT_TRUE(run_until([&] { return peer.frames().ends_with("the end"); }));
  EXPECT_TRUE(below);
  EXPECT_GT(sent, 100u);
  EXPECT_EQ(peer.frames().size(), sent * (message.size() + 4) + 2 + 7);
  EXPECT_THAT(journal, ElementsAre("writable"));
}

// After the Close frame, the connection's write window (HttpServerOptions::send_window) limits a peer that does not
// read.
TEST_P(WebSocketSuite, a_peer_that_reads_nothing_is_cut_off) {
  for (const bool closes : {false, true}) {
    WebSocketCallbacks callbacks = noting();
    callbacks.on_open = [closes](WebSocket& socket) {
      while (socket.queued_bytes() < 20'000'000) socket.send_binary(std::string(1'000'000, 'x'));
      if (closes) socket.close(4000, "you read too slowly");
    };
    HttpServerOptions options;
    if (closes) options.send_window = milliseconds(20);
    serve(std::move(callbacks),
          {.socket = {.ping_interval = milliseconds(20),
                      .pong_timeout = milliseconds(20),
                      .close_timeout = milliseconds(1)}},
          options);
    BytePeer& peer = connect_peer();
    peer.connection().run([](Connection& connection) { connection.pause(); });
    peer.send(handshake());
    ASSERT_TRUE(run_until([&] { return journal.size() == 1; }));
    if (closes) {
      EXPECT_THAT(journal.front(), testing::StartsWith("close 1006 the peer "));  // either limit may be reached first
    } else {
      EXPECT_EQ(journal.front(), "close 1006 the peer did not answer a ping in time");
    }
    journal.clear();
  }
}

TEST_P(WebSocketSuite, a_broadcast_reaches_each_in_the_form_it_agreed_on) {
  std::vector<WebSocket*> sockets;
  const WebSocketEndpointOptions options{.socket = {.deflate = {.enabled = true}}};
  serve({.on_open = [&](WebSocket& socket) { sockets.push_back(&socket); }}, options);
  BytePeer& plain = open_peer();
  BytePeer& deflated = open_peer("Sec-WebSocket-Extensions: permessage-deflate\r\n");
  BytePeer& small = open_peer("Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10\r\n");
  const std::string text(1000, 'x');
  const WebSocketBroadcast message(WebSocketKind::kText, text, options.socket.deflate);
  ASSERT_EQ(sockets.size(), 3u);
  EXPECT_FALSE(sockets[0]->is_deflated());
  for (WebSocket* socket : sockets) {
    socket->send(message);
    socket->send_text(text);
  }
  const test::WebSocketRead inflating{.deflate = WebSocketDeflateTerms{.server_no_context_takeover = true}};
  const auto said = [&](BytePeer& peer, const test::WebSocketRead& read) {
    return read_websocket(WebSocketRole::kClient, peer.frames(), read);
  };
  const std::string both = "text " + text + "|text " + text + "|";
  EXPECT_TRUE(run_until([&] { return said(plain, {}) == both; }));
  EXPECT_TRUE(run_until([&] { return said(deflated, inflating) == both; }));
  EXPECT_TRUE(run_until([&] { return said(small, inflating) == both; }));
  EXPECT_GT(plain.frames().size(), 2000u);
  EXPECT_LT(deflated.frames().size(), 100u);
  // The broadcast was compressed for a larger window than this peer has, so it was sent uncompressed.
  EXPECT_TRUE(small.frames().size() > 1000 && small.frames().size() < 1100);
}

TEST_P(WebSocketSuite, context_taken_over_from_message_to_message) {
  const WebSocketEndpointOptions options{.socket = {.deflate = {.enabled = true, .context_takeover = true}}};
  serve(echoing(), options);
  BytePeer& peer = open_peer("Sec-WebSocket-Extensions: permessage-deflate\r\n");
  std::string text;
  for (int at = 0; at < 500; ++at) text += static_cast<char>('a' + at * at % 26);
  WebSocketDeflater deflater(15, true, options.socket.deflate);
  for (int round = 0; round < 2; ++round) {
    peer.send(test::websocket_frame({.compressed = true, .masked = true, .key = 7}, deflater.deflate(text)));
  }
  const std::string both = "text " + text + "|text " + text + "|";
  const test::WebSocketRead inflating{.deflate = WebSocketDeflateTerms{}};
  EXPECT_TRUE(run_until([&] { return read_websocket(WebSocketRole::kClient, peer.frames(), inflating) == both; }));
}

TEST_P(WebSocketSuite, a_callback_that_throws_ends_its_connection_alone) {
  WebSocketCallbacks callbacks = noting();
  callbacks.on_message = [&](WebSocket& socket, WebSocketKind, std::string_view message) {
    if (message == "throw") throw std::runtime_error("as asked");
    socket.send_text(message);
  };
  serve(std::move(callbacks));
  BytePeer& bad = open_peer();
  BytePeer& good = open_peer();
  bad.send(client_frame(kText, "throw"));
  // With a layer, the peer may see the end of the connection one turn before on_close is called.
  ASSERT_TRUE(run_until([&] { return bad.ended && count("close 1006 a callback threw") == 1; }));
  good.send(client_frame(kText, "still here"));
  EXPECT_TRUE(run_until([&] { return good.frames() == server_frame(kText, "still here"); }));
}

TEST_P(WebSocketSuite, handles_kept_beyond_the_end_do_nothing) {
  WebSocketHandle handle;
  WebSocketCallbacks callbacks = noting();
  callbacks.on_open = [&](WebSocket& socket) {
    handle = socket.handle();
    handle.send_text("through the handle");
    handle.send(WebSocketBroadcast(WebSocketKind::kBinary, "shared"));
    handle.close(4001, "also");
  };
  serve(std::move(callbacks));
  BytePeer& peer = open_peer();
  peer.send(client_frame(kClose, ""));
  EXPECT_EQ(last_words(peer), "text through the handle|binary shared|" + close_words(4001, "also"));
  ASSERT_TRUE(run_until([&] { return count("close 1005 ") == 1; }));
  handle.send_text("late");
  handle.run([](WebSocket&) { ADD_FAILURE() << "there is no socket"; });
  handle.abort();
  settle();
}

TEST_P(WebSocketSuite, a_context_lives_as_long_as_the_socket) {
  auto shared = std::make_shared<int>(7);
  WebSocketCallbacks callbacks = noting();
  callbacks.on_open = [&](WebSocket& socket) { socket.emplace_context<std::shared_ptr<int>>(shared); };
  callbacks.on_close = [&](WebSocket& socket, uint16_t, std::string_view) {
    journal.push_back(std::to_string(*socket.context<std::shared_ptr<int>>()));
  };
  serve(std::move(callbacks));
  BytePeer& peer = open_peer();
  EXPECT_EQ(shared.use_count(), 2);
  peer.connection().close();
  ASSERT_TRUE(run_until([&] { return shared.use_count() == 1; }));
  EXPECT_THAT(journal, ElementsAre("7"));
}

TEST_P(WebSocketSuite, a_server_that_drains_says_that_it_goes) {
  serve(noting());
  BytePeer& peer = open_peer();
  bool drained = false;
  server().drain(std::chrono::seconds(5), [&](const DrainReport& report) {
    drained = true;
    EXPECT_EQ(report.forced, 0u);
  });
  ASSERT_TRUE(run_until([&] { return peer.frames().size() > 2; }));
  peer.send(client_frame(kClose, websocket_close_payload(1001, "")));
  EXPECT_EQ(last_words(peer), close_words(1001, "the server goes away"));
  EXPECT_TRUE(run_until([&] { return drained; }));
  EXPECT_EQ(count("close 1001 "), 1u);
}

TEST_P(WebSocketSuite, the_server_dies_while_sockets_are_open) {
  serve(noting(), {.socket = {.ping_interval = milliseconds(5)}});
  BytePeer& peer = open_peer();
  drop_server();
  EXPECT_TRUE(run_until([&] { return peer.ended; }));
  settle();
  EXPECT_THAT(journal, ElementsAre("open"));
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(WebSocketSuite);

}  // namespace
}  // namespace peal
