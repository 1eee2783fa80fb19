# SPDX-License-Identifier: BSD-3-Clause
"""Comments find the lines that they belong to, and their text its meaning."""
import pytest
from comments import Comments, blocks, split_comment

HEADER = """// SPDX-License-Identifier: BSD-3-Clause
// Thing: what it is.
//
// More of it.
#pragma once

// Adds one.
int add();

struct Counts {
  // ---- The first part.

  int a = 0;  // the first
  int b = 0;  // the second,
              // on two lines
  // Above c.
  int c = 0;
  int d = f("// no comment");  // NOLINT(why)
};
"""


@pytest.fixture
def comments():
    return Comments(HEADER)


def line_of(text):
    return next(number for number, line in enumerate(HEADER.splitlines(), 1) if text in line)


def test_the_essay_is_what_stands_before_the_code(comments):
    assert comments.essay() == ["Thing: what it is.", "", "More of it."]


def test_a_comment_above_or_behind_belongs_to_its_line(comments):
    assert comments.above(line_of("int add")) == ["Adds one."]
    assert comments.behind(line_of("int a = 0")) == ["the first"]
    assert comments.behind(line_of("int b = 0")) == ["the second,", "on two lines"]
    assert comments.above(line_of("int c = 0")) == ["Above c."]


def test_the_rest_of_a_trailing_comment_is_not_above_the_next_line():
    text = "int a;  // one,\n        // two\nint b;\n"
    assert Comments(text).above(3) == []


def test_notes_for_tools_and_text_in_strings_are_no_comments(comments):
    assert comments.behind(line_of("int d = f")) == []
    assert split_comment('f("//", \'"\');  // a')[2] == "a"
    assert split_comment("int million = 1'000'000;  // b")[2] == "b"


def test_a_comment_between_empty_lines_is_a_heading(comments):
    first, last = line_of("struct"), len(HEADER.splitlines())
    assert comments.sections(first, last) == [(line_of("----"), "The first part.")]


def test_text_is_paragraphs_code_and_lists():
    found = blocks(["A thing", "of two lines.", "", "  thing.run();  // goes", "", "It may be:", "- one", "  more",
                    "- two:", "  1. a", "  2. b", "Then it ends."])
    assert [block.kind for block in found] == ["text", "code", "text", "list", "text"]
    assert found[0].text == "A thing of two lines."
    assert found[1].text == "thing.run();  // goes"
    assert found[3].items[0][0].text == "one more"
    assert found[3].items[1][1].kind == "steps"
    assert found[4].text == "Then it ends."


def test_a_list_may_have_empty_lines_between_its_items():
    found = blocks(["- one", "", "- two", "", "Behind."])
    assert [block.kind for block in found] == ["list", "text"]
    assert len(found[0].items) == 2


@pytest.mark.parametrize("drawing", ["  a ─► b", "  LineFraming       LF follows"])
def test_a_drawing_or_a_table_is_no_code(drawing):
    assert [block.kind for block in blocks(["See:", drawing])] == ["text", "drawing"]
