// SPDX-License-Identifier: BSD-3-Clause
// Tests event_text() with a reader that follows WHATWG HTML 9.2.6, as browsers do.
#include <peal/wire/content/server_event.h>

#include <random>
#include <vector>

#include <gmock/gmock.h>

namespace peal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Reads a whole event stream as a browser does.
class Reader {
 public:
  struct Dispatched {
    std::string type;
    std::string data;
    std::string id;
    bool operator==(const Dispatched&) const = default;
  };

  void read(std::string_view stream) {
    while (!stream.empty()) {
      const size_t end = stream.find_first_of("\r\n");
      if (end == stream.npos) return;
      line(stream.substr(0, end));
      stream.remove_prefix(end + (stream.substr(end).starts_with("\r\n") ? 2 : 1));
    }
  }
  std::vector<Dispatched> events;
  std::string last_id;
  int64_t retry = 0;

 private:
  void line(std::string_view text) {
    if (text.empty()) return dispatch();
    const size_t colon = text.find(':');
    if (colon == 0) return;
    const std::string_view name = text.substr(0, colon);
    std::string_view value = colon == text.npos ? "" : text.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (name == "event") type_ = value;
    if (name == "data") data_.append(value) += '\n';
    if (name == "id" && value.find('\0') == value.npos) id_ = value;
    if (name == "retry" && !value.empty() && value.find_first_not_of("0123456789") == value.npos) {
      retry = std::stoll(std::string(value));
    }
  }
  void dispatch() {
    last_id = id_;
    if (!data_.empty()) {
      data_.pop_back();
      const std::string type = type_.empty() ? "message" : type_;
      events.push_back({type, data_, last_id});
    }
    data_.clear();
    type_.clear();
  }

  std::string type_, data_, id_;
};

Reader read(const ServerEvent& event) {
  Reader reader;
  reader.read(event_text(event));
  return reader;
}

TEST(ServerEvent, as_the_standard_writes_them) {
  EXPECT_EQ(event_text({.data = "This is the first message."}), "data: This is the first message.\n\n");
  EXPECT_EQ(event_text({.event = "add", .id = "7", .data = "73857293", .retry = std::chrono::seconds(3)}),
            "event: add\nid: 7\nretry: 3000\ndata: 73857293\n\n");
  EXPECT_EQ(event_text({.id = ""}), "id:\n\n");
  EXPECT_EQ(event_comment(), ":\n");
  EXPECT_EQ(event_comment("still here"), ": still here\n");
}

TEST(ServerEvent, data_of_several_lines_arrives_as_it_was_but_for_the_line_ends) {
  const auto arrived = [](std::string_view data) {
    const Reader reader = read({.data = data});
    EXPECT_EQ(reader.events.size(), 1u) << data;
    return reader.events.empty() ? "nothing" : reader.events[0].data;
  };
  EXPECT_EQ(arrived("one\ntwo\r\nthree\rfour"), "one\ntwo\nthree\nfour");
  EXPECT_EQ(arrived("\n\n"), "\n\n");
  EXPECT_EQ(arrived("ends\n"), "ends\n");
  EXPECT_EQ(arrived("\r\n"), "\n");
  EXPECT_EQ(arrived("\n\r"), "\n\n");
  EXPECT_EQ(arrived(""), "");
  EXPECT_EQ(arrived("  two spaces, : and data: x"), "  two spaces, : and data: x");
}

TEST(ServerEvent, no_value_becomes_a_field_or_another_event) {
  const Reader reader =
      read({.event = "a\ndata: forged\n\nevent: b", .id = std::string_view("1\r\ndata: x\0", 11), .data = "1"});
  EXPECT_THAT(reader.events, ElementsAre(Reader::Dispatched{"a data: forged  event: b", "1", "1  data: x "}));
  const Reader data = read({.data = "x\n\nevent: forged\ndata: y"});
  EXPECT_THAT(data.events, ElementsAre(Reader::Dispatched{"message", "x\n\nevent: forged\ndata: y", ""}));
  EXPECT_THAT(event_comment("a\n\ndata: forged"), ": a  data: forged\n");
}

TEST(ServerEvent, without_data_nothing_is_dispatched) {
  const Reader reader = read({.event = "none", .id = "9", .retry = std::chrono::milliseconds(-5)});
  EXPECT_THAT(reader.events, IsEmpty());
  EXPECT_EQ(reader.last_id, "9");
  EXPECT_EQ(reader.retry, 0);
}

TEST(ServerEvent, random_bytes_stay_one_event) {
  std::mt19937 random(9);
  constexpr std::string_view kAlphabet("\r\n: \0daeitv7\xff", 14);
  const auto text = [&] {
    std::string made;
    for (size_t left = random() % 12; left > 0; --left) made += kAlphabet[random() % kAlphabet.size()];
    return made;
  };
  for (int round = 0; round < 20'000; ++round) {
    const std::string type = text(), id = text(), data = text();
    Reader reader;
    reader.read(event_text({.event = type, .id = id, .data = data}) + event_comment(text()) +
                event_text({.data = "end"}));
    ASSERT_EQ(reader.events.size(), 2u) << testing::PrintToString(type + "|" + id + "|" + data);
    ASSERT_EQ(reader.events[1].data, "end");
  }
}

}  // namespace
}  // namespace peal
