// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/websocket/websocket_deflate.h>

#include <random>

#include <gtest/gtest.h>

namespace peal {
namespace {

std::string some_text(size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  constexpr std::string_view kWords[] = {"bell ", "rope ", "peal ", "changes ", "tower "};
  std::string text;
  while (text.size() < bytes) text += kWords[random() % std::size(kWords)];
  text.resize(bytes);
  return text;
}

TEST(WebSocketDeflate, there_and_back_with_every_window_and_with_and_without_context) {
  for (uint8_t bits = 9; bits <= 15; ++bits) {
    for (const bool keeps_context : {false, true}) {
      WebSocketDeflater deflater(bits, keeps_context, {});
      WebSocketInflater inflater(bits, keeps_context);
      std::string back;
      for (const size_t size : {1, 10, 300, 5000, 100'000, 7}) {
        const std::string text = some_text(size, bits);
        const std::string compressed(deflater.deflate(text));
        ASSERT_FALSE(compressed.empty());
        ASSERT_EQ(inflater.inflate(compressed, 100'000, back), WebSocketFault::kNone) << size;
        ASSERT_EQ(back, text);
      }
    }
  }
}

TEST(WebSocketDeflate, context_makes_the_second_of_two_alike_messages_smaller) {
  WebSocketDeflater keeps(15, true, {});
  WebSocketDeflater forgets(15, false, {});
  std::mt19937 random(1);
  std::string text;
  for (int at = 0; at < 300; ++at) text += static_cast<char>('a' + random() % 26);
  const size_t first = keeps.deflate(text).size();
  EXPECT_LT(keeps.deflate(text).size() * 4, first);
  forgets.deflate(text);
  EXPECT_EQ(forgets.deflate(text).size(), first);
}

TEST(WebSocketDeflate, a_bomb_makes_no_more_room_than_the_limit) {
  WebSocketDeflater deflater(15, false, {});
  const std::string bomb(deflater.deflate(std::string(50'000'000, '\0')));
  EXPECT_LT(bomb.size(), 300'000u);
  WebSocketInflater inflater(15, false);
  std::string message;
  EXPECT_EQ(inflater.inflate(bomb, 1'000'000, message), WebSocketFault::kTooLarge);
  EXPECT_LE(message.capacity(), 2'100'000u);
  // The inflater still works for the next message.
  EXPECT_EQ(inflater.inflate(deflater.deflate("next"), 1'000'000, message), WebSocketFault::kNone);
  EXPECT_EQ(message, "next");
}

TEST(WebSocketDeflate, exactly_the_limit_and_one_byte_more) {
  WebSocketDeflater deflater(15, false, {});
  WebSocketInflater inflater(15, false);
  std::string message;
  for (const size_t limit : {1, 4095, 4096, 4097, 20'000}) {
    const std::string fits(deflater.deflate(std::string(limit, 'x')));
    EXPECT_EQ(inflater.inflate(fits, limit, message), WebSocketFault::kNone) << limit;
    EXPECT_EQ(message.size(), limit);
    const std::string beyond(deflater.deflate(std::string(limit + 1, 'x')));
    EXPECT_EQ(inflater.inflate(beyond, limit, message), WebSocketFault::kTooLarge) << limit;
  }
}

TEST(WebSocketDeflate, what_is_no_compressed_data) {
  WebSocketInflater inflater(15, false);
  std::string message;
  EXPECT_EQ(inflater.inflate("\xff\xff\xff", 1000, message), WebSocketFault::kBadDeflate);
  EXPECT_EQ(inflater.inflate(std::string_view("\xf2\x00\x11\x00\x00", 5), 1000, message), WebSocketFault::kBadDeflate)
      << "it refers to what was not there";
}

// RFC 7692 7.2.3.5 allows blocks that are marked as the last one of their stream. Each costs a copy of the window.
TEST(WebSocketDeflate, last_blocks_are_taken_but_not_without_end) {
  WebSocketInflater inflater(15, false);
  std::string message;
  const auto ends = [](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += std::string_view("\x03\x00", 2);
    return text;
  };
  EXPECT_EQ(inflater.inflate(ends(10), 1000, message), WebSocketFault::kNone);
  EXPECT_EQ(inflater.inflate(ends(100), 1000, message), WebSocketFault::kBadDeflate);
}

WebSocketDeflateOptions wanted(bool context_takeover = false, uint8_t window_bits = 15) {
  return {.enabled = true, .context_takeover = context_takeover, .window_bits = window_bits};
}
std::string answer_to(std::string_view offers, const WebSocketDeflateOptions& options = wanted()) {
  const auto choice = choose_websocket_deflate(offers, options);
  return choice ? choice->answer : "nothing";
}

TEST(WebSocketDeflateTerms, offers_and_the_server_s_answers) {
  constexpr std::string_view kNone = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
  EXPECT_EQ(answer_to("permessage-deflate"), kNone);
  EXPECT_EQ(answer_to("permessage-deflate; client_max_window_bits"), kNone);
  EXPECT_EQ(answer_to("permessage-deflate", wanted(true)), "permessage-deflate");
  EXPECT_EQ(answer_to("permessage-deflate; server_no_context_takeover", wanted(true)),
            "permessage-deflate; server_no_context_takeover");
  EXPECT_EQ(answer_to("permessage-deflate; client_max_window_bits=10; server_max_window_bits=15", wanted(true)),
            "permessage-deflate; server_max_window_bits=15; client_max_window_bits=10");
  EXPECT_EQ(answer_to("permessage-deflate; server_max_window_bits=\"12\"", wanted(true, 11)),
            "permessage-deflate; server_max_window_bits=11");
  EXPECT_EQ(answer_to("permessage-deflate", wanted(true, 9)), "permessage-deflate; server_max_window_bits=9");
  // The first acceptable offer counts.
  EXPECT_EQ(
      answer_to("x-other, permessage-deflate;later=1 , permessage-deflate;server_max_window_bits=8", wanted(true)),
      "permessage-deflate; server_max_window_bits=8");
  EXPECT_EQ(answer_to("permessage-deflate", WebSocketDeflateOptions{}), "nothing");
}

TEST(WebSocketDeflateTerms, offers_that_are_declined) {
  for (const std::string_view offer :
       {"", "x-webkit-deflate-frame", "permessage-deflate; server_max_window_bits", "permessage-deflate; unknown",
        "permessage-deflate; server_max_window_bits=16", "permessage-deflate; server_max_window_bits=08",
        "permessage-deflate; server_max_window_bits=7", "permessage-deflate; client_max_window_bits=16",
        "permessage-deflate; server_no_context_takeover=1",
        "permessage-deflate; client_no_context_takeover; client_no_context_takeover", "permessage-deflate;",
        "permessage-deflate; =1", "permessage-deflate; server_max_window_bits=\"10", "permessage-deflate, ;",
        "permessage-deflate x", "permessage-deflate; server_max_window_bits=\"1 0\""}) {
    EXPECT_EQ(answer_to(offer), "nothing") << offer;
  }
}

TEST(WebSocketDeflateTerms, the_client_s_offer_and_what_the_answers_to_it_come_to) {
  EXPECT_EQ(websocket_deflate_offer(wanted()),
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover; client_max_window_bits");
  EXPECT_EQ(websocket_deflate_offer(wanted(true, 10)), "permessage-deflate; client_max_window_bits=10");
  const auto read = [](std::string_view answer, const WebSocketDeflateOptions& options) {
    return read_websocket_deflate_answer(answer, options);
  };
  EXPECT_EQ(read("permessage-deflate", wanted(true)), WebSocketDeflateTerms{});
  EXPECT_EQ(read("permessage-deflate; server_max_window_bits=9; client_max_window_bits=12", wanted(true)),
            (WebSocketDeflateTerms{.server_max_window_bits = 9, .client_max_window_bits = 12}));
  EXPECT_EQ(read("permessage-deflate; server_no_context_takeover", wanted()),
            (WebSocketDeflateTerms{.server_no_context_takeover = true, .client_no_context_takeover = true}));
  for (const std::string_view answer :
       {"permessage-deflate; client_max_window_bits", "permessage-deflate; client_max_window_bits=11", "other",
        "permessage-deflate, permessage-deflate", "permessage-deflate; what", "permessage-deflate; x y", ""}) {
    EXPECT_FALSE(read(answer, wanted(true, 10))) << answer;
  }
  EXPECT_FALSE(read("permessage-deflate", wanted())) << "it keeps its context, though asked not to";
}

// For every offer of a peal client and every server of peal, both sides must arrive at the same terms.
TEST(WebSocketDeflateTerms, both_sides_agree) {
  for (const bool client_takeover : {false, true}) {
    for (const bool server_takeover : {false, true}) {
      for (uint8_t client_bits = 9; client_bits <= 15; ++client_bits) {
        for (uint8_t server_bits = 9; server_bits <= 15; ++server_bits) {
          const auto client = wanted(client_takeover, client_bits);
          const auto choice =
              choose_websocket_deflate(websocket_deflate_offer(client), wanted(server_takeover, server_bits));
          ASSERT_TRUE(choice);
          const auto understood = read_websocket_deflate_answer(choice->answer, client);
          ASSERT_TRUE(understood) << choice->answer;
          EXPECT_EQ(*understood, choice->terms) << choice->answer;
        }
      }
    }
  }
}

}  // namespace
}  // namespace peal
