# SPDX-License-Identifier: BSD-3-Clause
"""Puts the repository's Markdown into the form that the site's builder reads.

Documents are written for a host that shows Markdown, with links between files of the repository. Here each link gets
the page of the site that shows its target. Lists and tables are indented and set apart as Python-Markdown wants.
"""
import posixpath
import re

_FENCE = re.compile(r"^ *(```+|~~~+)")
_ITEM = re.compile(r"^( *)([-*]|\d+[.)])( +)(?=\S)")
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\()([^)\s]+)((?: \"[^\"]*\")?\))")
_CODE_SPAN = re.compile(r"(`+)(?:.+?)\1")
_PICTURE = re.compile(r"<picture>.*?srcset=\"([^\"]+)\".*?alt=\"([^\"]*)\".*?src=\"([^\"]+)\".*?</picture>", re.DOTALL)
_COMMENT = re.compile(r"^<!--.*?-->\n?", re.DOTALL | re.MULTILINE)


def pieces(text):
    """The text as (whether it is a fenced block, lines)."""
    found, fence = [], None
    for line in text.splitlines():
        match = _FENCE.match(line)
        if fence is None and match:
            fence = match[1]
            found.append((True, [line]))
        elif fence is not None:
            found[-1][1].append(line)
            if match and match[1].startswith(fence) and line.strip() == match[1]:
                fence = None
                found.append((False, []))
        else:
            if not found:
                found.append((False, []))
            found[-1][1].append(line)
    return found


class _Lists:
    """Indents nested lists by four columns, and puts an empty line before a list or table that follows a text."""

    def __init__(self):
        self._columns = []  # where the text of each open item begins
        self._before = ""
        self._in_list = False

    def line(self, line):
        found = []
        if not line.strip():
            found.append("")
        elif match := _ITEM.match(line):
            at = len(match[1])
            while self._columns and at < self._columns[-1]:
                self._columns.pop()
            if self._before.strip() and not self._columns and not self._in_list:
                found.append("")
            found.append(" " * 4 * len(self._columns) + match[2] + " " + line[match.end():])
            self._columns.append(match.end())
        else:
            found += self._other(line)
        self._in_list = bool(self._columns)
        self._before = line
        return found

    def _other(self, line):
        at = len(line) - len(line.lstrip())
        if not self._before.strip() or line.startswith("#"):
            while self._columns and at < self._columns[-1]:
                self._columns.pop()
        apart = line.startswith("|") and self._before.strip() and not self._before.startswith("|")
        extra = max(0, at - self._columns[-1]) if self._columns else at
        return ([""] if apart else []) + [" " * (4 * len(self._columns) + extra) + line.lstrip()]

    def block(self, lines):
        """A fenced block keeps its text and goes with its item."""
        at = len(lines[0]) - len(lines[0].lstrip())
        while self._columns and at < self._columns[-1]:
            self._columns.pop()
        self._before = lines[-1]
        indent = " " * 4 * len(self._columns)
        return [indent + line[min(at, len(line) - len(line.lstrip())):] if line.strip() else "" for line in lines]


def _outside_of_code(pattern, replace, line):
    """Replaces what the pattern finds in a line, but not inside of `code`."""
    kept = []

    def hide(match):
        kept.append(match[0])
        return f"\0{len(kept) - 1}\0"

    hidden = _CODE_SPAN.sub(hide, line)
    return re.sub("\0(\\d+)\0", lambda match: kept[int(match[1])], pattern.sub(replace, hidden))


def converted(text, path, target_of):
    """The Markdown of the site's page for the document `path`. `target_of(path, anchor)` returns the link from that
    page to a file of the repository."""
    folder = posixpath.dirname(path)

    def link(match):
        target, mark, anchor = match[2].partition("#")
        if ":" in target or not target:
            return match[0]
        return match[1] + target_of(posixpath.normpath(posixpath.join(folder, target)), mark + anchor) + match[3]

    def picture(match):
        dark, alt, light = match[1], match[2], match[3]
        return f"![{alt}]({light}#only-light)\n![{alt}]({dark}#only-dark)"

    out, lists = [], _Lists()
    for fenced, lines in pieces(text):
        if fenced:
            out += lists.block(lines)
            continue
        body = _COMMENT.sub("", _PICTURE.sub(picture, "\n".join(lines)))
        for line in body.split("\n"):
            out += [_outside_of_code(_LINK, link, one) for one in lists.line(line)]
    return "\n".join(out).rstrip() + "\n"


def linked(text, path):
    """Every file of the repository that a document links to, as paths."""
    found = []
    converted(text, path, lambda target, anchor: found.append(target) or "")
    return found
