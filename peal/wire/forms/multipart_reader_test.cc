// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/forms/multipart_reader.h>

#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

using std::string_literals::operator""s;

// Returns the events of a reader that gets `input` in pieces. A part is written as [name|file name|type]data. with a
// dot at its end, and a fault as ! and its text.
std::string said_of(std::string_view input, size_t piece_bytes = SIZE_MAX, std::string_view boundary = "B",
                    const MultipartLimits& limits = {}) {
  MultipartReader reader(boundary, limits);
  test::GuardedBytes guarded(input.size());
  std::string said;
  while (!input.empty()) {
    std::string_view piece = guarded.hold(input.substr(0, piece_bytes));
    input.remove_prefix(piece.size());
    while (!piece.empty()) {
      const size_t taken = reader.step(piece);
      piece.remove_prefix(taken);
      switch (reader.event()) {
        case MultipartEvent::kNone: EXPECT_TRUE(piece.empty()); break;
        case MultipartEvent::kPart:
          said += "[" + reader.part().name + "|" + reader.part().file_name.value_or("-") + "|" +
                  reader.part().content_type + "]";
          break;
        case MultipartEvent::kData:
          EXPECT_FALSE(reader.data().empty());
          said += reader.data();
          break;
        case MultipartEvent::kEnd: said += "."; break;
      }
    }
  }
  reader.finish();
  if (reader.fault() != MultipartFault::kNone) return said + "!" + std::string(to_string(reader.fault()));
  EXPECT_TRUE(reader.ended());
  return said;
}

std::string part_of(std::string_view head, std::string_view data) {
  return "--B\r\nContent-Disposition: form-data; " + std::string(head) + "\r\n\r\n" + std::string(data) + "\r\n";
}
std::string form_of(std::string_view head, std::string_view data) { return part_of(head, data) + "--B--\r\n"; }

// A form as browsers write it (RFC 7578 4.1 to 4.4).
TEST(MultipartReader, a_form_of_a_browser) {
  const std::string_view text =
      "------WebKitFormBoundaryzz\r\n"
      "Content-Disposition: form-data; name=\"field1\"\r\n\r\n"
      "Joe owes \xe2\x82\xac"
      "100.\r\n"
      "------WebKitFormBoundaryzz\r\n"
      "Content-Disposition: form-data; name=\"pics\"; filename=\"file1.txt\"\r\n"
      "Content-Type: text/plain\r\n\r\n"
      "a\r\nb\r\n\r\n"
      "------WebKitFormBoundaryzz\r\n"
      "Content-Disposition: form-data; name=\"empty\"; filename=\"\"\r\n"
      "Content-Type: application/octet-stream\r\n\r\n"
      "\r\n"
      "------WebKitFormBoundaryzz--\r\n";
  for (size_t piece_bytes = 1; piece_bytes <= text.size(); ++piece_bytes) {
    ASSERT_EQ(said_of(text, piece_bytes, "----WebKitFormBoundaryzz"),
              "[field1|-|]Joe owes \xe2\x82\xac"
              "100..[pics|file1.txt|text/plain]a\r\nb\r\n."
              "[empty||application/octet-stream].")
        << piece_bytes;
  }
}

TEST(MultipartReader, what_only_looks_like_a_boundary_is_data) {
  for (const std::string_view data :
       {"", "\r", "\n", "\r\n", "\r\n-", "\r\n--", "\r\r\n--", "\r\n--b", "--B", "--B--", "x--B\r\n", "\n--B\r\n",
        "\r\n--Bx", "\r\n--BB", "\r\n-\r\n--\r\n--C", "\r\n\r\n\r\n", "\r\n--\r", "a\r\n--Bx\r\n--By", "-\r"}) {
    if (data.starts_with("--B")) continue;  // at the front of the data it is a boundary, see below
    const std::string text = form_of("name=a", data);
    for (size_t piece_bytes = 1; piece_bytes <= text.size(); ++piece_bytes) {
      ASSERT_EQ(said_of(text, piece_bytes), "[a|-|]" + std::string(data) + ".") << piece_bytes;
    }
  }
}

TEST(MultipartReader, what_stands_around_the_parts_is_passed_over) {
  EXPECT_EQ(said_of("preamble\r\n--Bx\r\n" + form_of("name=a", "x") + "epilogue\r\n--B\r\n"), "[a|-|]x.");
  EXPECT_EQ(said_of("\r\n" + form_of("name=a", "x")), "[a|-|]x.");
  EXPECT_EQ(said_of("x" + form_of("name=a", "x")), "");  // only a whole line is a boundary
  EXPECT_EQ(said_of("--B--"), "");
  EXPECT_EQ(said_of("--B \t \r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--B--  "), "[a|-|]x.");
  // The CR LF before a boundary belongs to the boundary (RFC 2046 5.1.1), or to the head before the boundary.
  EXPECT_EQ(said_of("--B\r\nContent-Disposition: form-data; name=a\r\n\r\n--B--"), "[a|-|].");
}

TEST(MultipartReader, names_as_clients_write_them) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"(name="a b")", "[a b|-|]"},
      {R"(name="a%22b%0D%0ac%20d%2")", "[a\"b\r\nc%20d%2|-|]"},
      {R"(name="a\"b\\c\d")", R"([a"b\c\d|-|])"},
      {R"(name="a\"; b"; filename="c\"; d=\"e")", R"([a"; b|c"; d="e|])"},
      {R"(name="a"; filename="C:\temp\x.txt")", R"([a|C:\temp\x.txt|])"},
      {R"(NAME="a"; FileName=x.txt)", "[a|x.txt|]"},
      {R"(name="a"; filename="../../etc/passwd")", "[a|../../etc/passwd|]"},
      {R"(name="a"; filename*=UTF-8''evil; filename="good")", "[a|good|]"},
      {R"(name="a"; filename*=UTF-8''evil)", "[a|-|]"},
      {"name=\"\xc3\xa4;=\"; filename=\"\xff\"", "[\xc3\xa4;=|\xff|]"},
      {R"(name="")", "[|-|]"},
      {R"(unknown=1; name=a)", "[a|-|]"},
  };
  for (const auto& [head, expected] : cases) EXPECT_EQ(said_of(form_of(head, "")), std::string(expected) + ".") << head;
}

// curl, Node, Python's requests and browsers send a backslash as it is, even at the end of a name. The reader once took
// the quote after it for a part of the name, and refused the whole form.
TEST(MultipartReader, backslashes_of_clients_that_escape_by_percent_are_text) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"(name="f"; filename="ends\")", R"([f|ends\|])"},
      {R"(name="ends\"; filename="x")", R"([ends\|x|])"},
      {R"(name="a\"; filename="b\" ; c="d\")", R"([a\|b\|])"},
      {R"(name="\"; filename="\\")", R"([\|\\|])"},
      {R"(name="f"; filename="two\\")", R"([f|two\\|])"},
      {R"(name="f"; filename="a\\b%22\")", R"([f|a\\b"\|])"},
      {R"(name="f\")", R"([f\|-|])"},
  };
  for (const auto& [head, expected] : cases) EXPECT_EQ(said_of(form_of(head, "")), std::string(expected) + ".") << head;
}

TEST(MultipartReader, what_is_malformed_is_a_fault) {
  const auto with_head = [](std::string_view head) { return "--B\r\n" + std::string(head) + "\r\n\r\nx\r\n--B--\r\n"; };
  const std::string kDisposition = "Content-Disposition: form-data; name=a";
  const std::pair<std::string, std::string_view> cases[] = {
      {"", "!the form ends before its last boundary"},
      {"--B", "!the form ends before its last boundary"},
      {"--B-", "!the form ends before its last boundary"},
      {part_of("name=a", "x"), "[a|-|]x!the form ends before its last boundary"},
      {"--B\r\n\r\nx\r\n--B--", "!a part has no name"},
      {with_head("Content-Type: text/plain"), "!a part has no name"},
      {with_head("Content-Disposition: form-data"), "!a part has no name"},
      {with_head("Content-Disposition: attachment; name=a"), "!the head of a part is malformed"},
      {with_head(kDisposition + "; name=b"), "!the head of a part is malformed"},
      {with_head(kDisposition + "; filename=b; filename=c"), "!the head of a part is malformed"},
      {with_head(kDisposition + "; filename=\"b"), "!the head of a part is malformed"},
      {with_head(kDisposition + "\r\n" + kDisposition), "!the head of a part is malformed"},
      {with_head(kDisposition + "\r\nContent-Type: a\r\nContent-Type: b"), "!the head of a part is malformed"},
      {with_head(kDisposition + "\r\nno colon"), "!the head of a part is malformed"},
      {with_head(kDisposition + "\r\n folded: x"), "!the head of a part is malformed"},
      {with_head(kDisposition + "\r\nX: a\0b"s), "!the head of a part is malformed"},
      {with_head(kDisposition + "\nX: y"), "!the head of a part is malformed"},
      {with_head(kDisposition + "\r\n--B"), "!the head of a part is malformed"},
      {with_head(kDisposition + "\r\nContent-Transfer-Encoding: base64"),
       "!a part has a transfer encoding, which forms do not use"},
      {with_head(kDisposition + "\r\nContent-Transfer-Encoding: Binary"), "[a|-|]x."},
      {"--B x\r\n", "!other bytes follow a boundary on its line"},
      {"--B\rx", "!other bytes follow a boundary on its line"},
      {"--B-x", "!other bytes follow a boundary on its line"},
      {"--B --", "!other bytes follow a boundary on its line"},
      {"--B\r\r\n", "!other bytes follow a boundary on its line"},
      {form_of("name=a", "x\r\n--B-y"), "[a|-|]x.!other bytes follow a boundary on its line"},
  };
  for (const auto& [text, expected] : cases) {
    for (size_t piece_bytes = 1; piece_bytes <= text.size() + 1; ++piece_bytes)
      ASSERT_EQ(said_of(text, piece_bytes), expected) << text << piece_bytes;
  }
}

TEST(MultipartReader, limits) {
  const std::string three = part_of("name=a", "") + part_of("name=b", "") + form_of("name=c", "");
  EXPECT_EQ(said_of(three, 7, "B", {.parts = 3}), "[a|-|].[b|-|].[c|-|].");
  EXPECT_EQ(said_of(three, 7, "B", {.parts = 2}), "[a|-|].[b|-|].!too many parts");
  const std::string one = form_of("name=a", "x");
  const size_t head_bytes = one.find("\r\n\r\n") + 4 - 5;
  EXPECT_EQ(said_of(one, 3, "B", {.head_bytes = head_bytes}), "[a|-|]x.");
  EXPECT_EQ(said_of(one, 3, "B", {.head_bytes = head_bytes - 1}), "!the head of a part is too large");
  EXPECT_EQ(said_of("--B\r\n" + std::string(100'000, 'x'), 1000), "!the head of a part is too large");
  EXPECT_EQ(http_status(MultipartFault::kTooManyParts), 413);
  EXPECT_EQ(http_status(MultipartFault::kBadHead), 400);
}

TEST(MultipartReader, data_is_shown_where_it_lies) {
  MultipartReader reader("B");
  const std::string head = part_of("name=a", "");
  std::string_view rest = std::string_view(head).substr(0, head.size() - 2);
  while (!rest.empty()) rest.remove_prefix(reader.step(rest));
  // A megabyte of text that equals the boundary except for its last byte, again and again.
  std::string data;
  while (data.size() < 1'000'000) data += "\r\n--A\r\r\n-\r\n--\r\n--Bx";
  data += "end";
  EXPECT_EQ(reader.step(data), data.size());
  EXPECT_EQ(reader.event(), MultipartEvent::kData);
  EXPECT_EQ(reader.data().data(), data.data());
  EXPECT_EQ(reader.data().size(), data.size());
}

TEST(MultipartReader, the_boundary_of_a_content_type) {
  const std::string longest(70, 'x');
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=B"), "B");
  EXPECT_EQ(multipart_boundary("Multipart/Form-Data; charset=utf-8; Boundary=\"a b:/c?\""), "a b:/c?");
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=" + longest), longest);
  for (const std::string& text :
       {""s, "multipart/form-data"s, "multipart/mixed; boundary=B"s, "multipart/form-data; boundary="s,
        "multipart/form-data; boundary=\"\""s, "multipart/form-data; boundary=\"a \""s,
        "multipart/form-data; boundary=\"a\\\"b\""s, "multipart/form-data; boundary=" + longest + "x",
        "multipart/form-data; boundary=\"\xc3\xa4\""s, "multipart/form-data; boundary=a/b"s}) {
    EXPECT_EQ(multipart_boundary(text), std::nullopt) << text;
  }
  EXPECT_THROW(MultipartReader("a\r\nb"), std::invalid_argument);
  EXPECT_THROW(MultipartReader(""), std::invalid_argument);
}

TEST(MultipartReader, a_name_that_is_safe_for_a_file) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"a.txt", "a.txt"},
      {"", "file"},
      {".", "file"},
      {"..", "file"},
      {"../../etc/passwd", "passwd"},
      {"C:\\temp\\b.txt", "b.txt"},
      {"a/b\\c/", "file"},
      {".bashrc", "bashrc"},
      {"- --rf", "rf"},
      {"a\0b\r\nc\x7f.txt"s, "abc.txt"},
      {"\xc2\x85\xc3\xa4\xc2\xa0", "\xc3\xa4\xc2\xa0"},
      {"a\xff\xc3.txt", "a__.txt"},
      {"\xff", "_"},
      {"/", "file"},
      {"\n.\r-x", "x"},
      {"photo\xe2\x80\xaegpj.exe", "photogpj.exe"},  // U+202E would show it as "photoexe.jpg"
      {"\xe2\x80\x8b.\xef\xbb\xbf-a\xe2\x80\xa8"
       "b\xc2\xad.txt",
       "ab.txt"},  // invisible characters, then a dot in front
      {"\xe2\x81\xa6\xe2\x80\x8f", "file"},
      {"\xd9\x81\xd8\xa7 \xf0\x9f\x94\x94.txt", "\xd9\x81\xd8\xa7 \xf0\x9f\x94\x94.txt"},
  };
  for (const auto& [name, expected] : cases) EXPECT_EQ(safe_file_name(name), expected) << name;
  EXPECT_EQ(safe_file_name(std::string(1000, 'a')), std::string(200, 'a'));
  EXPECT_EQ(safe_file_name("a" + std::string(300, 'b').replace(198, 2, "\xc3\xa4")).size(), 199U);
}

}  // namespace
}  // namespace peal
