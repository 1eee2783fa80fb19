# SPDX-License-Identifier: BSD-3-Clause
"""The repository as tidy's rules see it: its files, each read once, with C++ stripped of comments and strings.

Line numbers survive every view of a file: stripping replaces, it never removes a line end.
"""
import os
import re
from collections import defaultdict
from functools import cached_property
from pathlib import Path

from tidy_functions import c_functions, python_functions, shell_functions

# Folders nobody writes by hand here: builds, caches, recorded data, files of other people as they came.
SKIPPED_FOLDERS = {"build", "__pycache__", "goldens", "testdata", "corpus", "node_modules", "third_party"}
C_SUFFIXES = {".h", ".cc", ".c"}
TEXT_SUFFIXES = C_SUFFIXES | {".py", ".sh", ".cmake", ".md", ".txt", ".json", ".in", ".j2", ".html", ".css", ".js"}

_LEXEMES = re.compile(
    r"""(?P<comment>//(?:[^\\\n]|\\.|\\\n)*|/\*.*?\*/)
      | (?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
               | "(?:[^"\\\n]|\\.)*"
               | '(?:[^'\\\n]|\\.)+')
      | \b\d[\w.']*""",
    re.VERBOSE | re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\\\n]|\\\n|\\.)*", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)

# Code by name: what neither a suffix nor a `#!` line tells.
CODE_NAMES = {"Makefile", ".clang-tidy", ".clang-format", ".gitignore", ".gitattributes"}


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


class Include:
    """One #include: its line, the name as written, and whether it stands in angle brackets."""

    def __init__(self, line, name, angled):
        self.line, self.name, self.angled = line, name, angled


class File:
    """One text file; `path` is relative to the root, with slashes."""

    def __init__(self, root, path):
        self.path = path
        self.folder, _, self.name = path.rpartition("/")
        self.stem, self.suffix = os.path.splitext(self.name)
        self._full = Path(root) / path

    @cached_property
    def text(self):
        return self._full.read_text(encoding="utf-8", errors="replace")

    @cached_property
    def lines(self):
        return self.text.splitlines()

    @property
    def is_c(self):
        return self.suffix in C_SUFFIXES

    @property
    def is_test(self):
        return bool(re.search(r"_(test|bench)$", self.stem)) or self.path.startswith("tests/")

    @property
    def is_script(self):
        return self.suffix in {"", ".sh"} and self.text.startswith("#!")

    @property
    def is_code(self):
        """Written by hand and read by a machine: what the size caps and the SPDX line are for."""
        if self.suffix in {".md", ".txt", ".json"} or self.name == "LICENSE":
            return self.name == "CMakeLists.txt"
        return self.suffix in TEXT_SUFFIXES or self.is_script or self.name in CODE_NAMES

    @cached_property
    def uncommented(self):
        """The text with comments blanked, strings kept."""
        return _LEXEMES.sub(lambda m: _blank(m[0]) if m["comment"] else m[0], self.text)

    @cached_property
    def code(self):
        """The text with comments, string contents and preprocessor lines blanked."""

        def strip(match):
            if match["comment"]:
                return _blank(match[0])
            if match["text"]:
                quote = match[0][-1]
                return quote + _blank(match[0][1:-1]) + quote
            return match[0]

        return _DIRECTIVE.sub(lambda m: _blank(m[0]), _LEXEMES.sub(strip, self.text))

    @cached_property
    def includes(self):
        return [Include(self.line_at(self.uncommented, m.start(1)), m[2], m[1] == "<")
                for m in _INCLUDE.finditer(self.uncommented)]

    @staticmethod
    def line_at(text, offset):
        return text.count("\n", 0, offset) + 1

    def functions(self):
        """Yields (first line, last line, name) of every outermost function."""
        if self.is_c:
            return c_functions(self.code)
        if self.suffix == ".py":
            return python_functions(self.text)
        return shell_functions(self.lines) if self.is_script else []


class Tree:
    """Every text file under root that somebody wrote."""

    def __init__(self, root):
        self.root = Path(root)
        self.files = sorted(self._walk(), key=lambda file: file.path)
        self.by_path = {file.path: file for file in self.files}
        self.by_name = defaultdict(list)
        for file in self.files:
            self.by_name[file.name].append(file)

    def _walk(self):
        for folder, names, files in os.walk(self.root):
            names[:] = [n for n in names if n not in SKIPPED_FOLDERS and (not n.startswith(".") or n == ".ci")]
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), self.root).replace(os.sep, "/")
                if not (self.root / path).is_symlink() and self._is_text(self.root / path):
                    yield File(self.root, path)

    @staticmethod
    def _is_text(full):
        if full.suffix in TEXT_SUFFIXES:
            return True
        with open(full, "rb") as stream:
            return full.suffix == "" and b"\0" not in stream.read(1024)

    def resolve(self, includer, name):
        """The file that `name`, included by `includer`, means in this tree; None when it lives elsewhere."""
        beside = os.path.normpath(os.path.join(includer.folder, name)).replace(os.sep, "/")
        if found := self.by_path.get(name) or self.by_path.get(beside):
            return found
        top = includer.path.split("/")[0] + "/"  # basenames are unique, so an include folder of a room can be guessed
        return next((f for f in self.by_name.get(name, []) if f.path.startswith(top)), None)
