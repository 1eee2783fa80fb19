# SPDX-License-Identifier: BSD-3-Clause
"""The comments of one header: which of them belongs to which line, and what its text means.

A comment belongs to a declaration in one of two ways: it stands on the lines directly above, or behind the declaration
on its last line, with more lines in the same column. The comment between the SPDX line and `#pragma once` is the
header's essay. A comment between two empty lines is the heading of what follows.
"""
import re
from dataclasses import dataclass

_INTERNAL = re.compile(r"SPDX|NOLINT|clang-format (?:on|off)|^(?:Quoted in docs|End of quote): \[")
_ITEM = re.compile(r"^( *)([-*]|\d+[.)]) +(.*)$")
_DRAWING = re.compile(r"[─│┌┐└┘├┤┬┴┼▶◀▲▼►◄→←↓↑]|-{2,}>|<-{2,}|^ *[|+][ -]")
_CODE = re.compile(r"[;{}](?: *//.*)?$|\bco_(?:await|return)\b|::\w|^ *[\w.]+\(.*\)[,;]?$|^ *#include")


def split_comment(line):
    """A line of C++ as (code, column of its comment, text of its comment); the text is None if it has no comment."""
    quote, at = None, 0
    while at < len(line):
        letter = line[at]
        if quote:
            if letter == "\\":
                at += 1
            elif letter == quote:
                quote = None
        elif letter == '"' or (letter == "'" and not (at and line[at - 1].isalnum())):
            quote = letter
        elif line.startswith("//", at):
            text = line[at + 2:]
            return line[:at].rstrip(), at, text[1:] if text.startswith(" ") else text
        at += 1
    return line.rstrip(), -1, None


class Comments:
    """The comments of a header, by the numbers of its lines, which begin at 1."""

    def __init__(self, text):
        self._lines = [split_comment(line) for line in text.splitlines()]

    def _is_comment(self, number):
        if not 1 <= number <= len(self._lines):
            return False
        code, _, text = self._lines[number - 1]
        return not code and text is not None

    def _is_empty(self, number):
        if not 1 <= number <= len(self._lines):
            return True
        code, _, text = self._lines[number - 1]
        return not code and text is None

    def code(self, number):
        return self._lines[number - 1][0]

    def _trailing_column(self, number):
        """The column of the trailing comment that the comment line `number` continues; -1 if it continues none."""
        column = self._lines[number - 1][1]
        while self._is_comment(number) and self._lines[number - 1][1] == column:
            number -= 1
        code, at, text = self._lines[number - 1] if number else ("", -1, None)
        return at if code and text is not None and at == column else -1

    def above(self, number):
        """The lines of the comment directly above line `number`; empty if there is none."""
        first = last = number - 1
        if not self._is_comment(last) or self._trailing_column(last) >= 0:
            return []
        while self._is_comment(first - 1) and self._trailing_column(first - 1) < 0:
            first -= 1
        if first == 1:
            return []  # the essay of a header that lacks `#pragma once`
        return self._texts(first, last)

    def behind(self, number):
        """The lines of the comment behind the code of line `number`."""
        if not 1 <= number <= len(self._lines) or not self.code(number) or self._lines[number - 1][2] is None:
            return []
        last, column = number, self._lines[number - 1][1]
        while self._is_comment(last + 1) and self._lines[last][1] == column:
            last += 1
        return self._texts(number, last)

    def _texts(self, first, last):
        texts = [self._lines[number - 1][2] for number in range(first, last + 1)]
        return [text for text in texts if not _INTERNAL.search(text)]

    def essay(self):
        """The lines of the comment that opens the header, without the SPDX line."""
        last = 0
        while self._is_comment(last + 1):
            last += 1
        return self._texts(1, last)

    def section(self, number):
        """The heading that a comment right at line `number` is, as its text; None if that line is no such heading."""
        if not self._is_comment(number) or self._is_comment(number - 1):
            return None
        last = number
        while self._is_comment(last + 1):
            last += 1
        lines = self._texts(number, last)
        if not lines or not (lines[0].startswith("---") or (self._is_empty(number - 1) and self._is_empty(last + 1))):
            return None
        return " ".join(lines).strip("- ")

    def sections(self, first, last):
        """Every heading between two lines, as (line, text)."""
        found = ((number, self.section(number)) for number in range(first, last + 1))
        return [(number, text) for number, text in found if text]


@dataclass
class Block:
    """A part of a comment's text: a paragraph, a list (each item has blocks of its own), or code."""
    kind: str  # "text", "list", "steps", "code", "drawing"
    text: str = ""
    items: list = None


def _indent(line):
    return len(line) - len(line.lstrip(" "))


def _code_blocks(lines):
    """Indented lines as blocks: what is drawn or tabled apart from what is code."""
    least = min(_indent(line) for line in lines if line.strip())
    parts, found = [[]], []
    for line in lines:
        if line.strip():
            parts[-1].append(line[least:].rstrip())
        elif parts[-1]:
            parts.append([])
    for part in filter(None, parts):
        drawing = any(_DRAWING.search(line) for line in part) or not any(_CODE.search(line) for line in part)
        kind, text = "drawing" if drawing else "code", "\n".join(part)
        if found and found[-1].kind == kind:
            found[-1].text += "\n\n" + text
        else:
            found.append(Block(kind, text))
    return found


def _take_code(lines, at):
    """The end of the indented lines from `at` on; empty lines between them belong to them."""
    end = at
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) >= 2):
        if _ITEM.match(lines[end]) and not _DRAWING.search(lines[end]):
            break
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return end


def _take_list(lines, at):
    """The list that begins at `at`, and the index of the line behind it."""
    first = _ITEM.match(lines[at])
    depth, kind = len(first[1]), "steps" if first[2][0].isdigit() else "list"
    items = []
    while at < len(lines):
        match = _ITEM.match(lines[at])
        if not match or len(match[1]) != depth:
            break
        own, at = [match[3]], at + 1
        while at < len(lines) and lines[at].strip() and _indent(lines[at]) > depth:
            own.append(lines[at][depth + 2:] if _indent(lines[at]) >= depth + 2 else lines[at].lstrip())
            at += 1
        items.append(blocks(own))
        if at + 1 < len(lines) and not lines[at].strip():
            following = _ITEM.match(lines[at + 1])
            if following and len(following[1]) == depth:
                at += 1
    return Block(kind, items=items), at


def blocks(lines):
    """The text of a comment as blocks."""
    found, at = [], 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif _ITEM.match(line):
            block, at = _take_list(lines, at)
            found.append(block)
        elif _indent(line) >= 2:
            end = _take_code(lines, at)
            if end == at:
                end = at + 1
            found += _code_blocks(lines[at:end])
            at = end
        else:
            end = at
            while end < len(lines) and lines[end].strip() and _indent(lines[end]) < 2 and \
                    not (end > at and _ITEM.match(lines[end])):
                end += 1
            found.append(Block("text", " ".join(part.strip() for part in lines[at:end])))
            at = end
    return found
