# SPDX-License-Identifier: BSD-3-Clause
"""Rules about one file at a time: sizes, first line, names, whitespace, include style, macros, leftovers.

A rule is a generator over the tree of (path, line, rule, sentence).
"""
import re
from collections import defaultdict

FILE_LINES = 400
FUNCTION_LINES = 70
COLUMNS = 120
SPDX = "SPDX-License-Identifier: BSD-3-Clause"

# Spelled apart, so that this file may speak of what it forbids.
_LEFTOVER = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX"]) + r")\b")
_SNAKE = re.compile(r"_*[a-z0-9]+(_[a-z0-9]+)*_*")
_PART = re.compile(r"_(part|more|rest)_?\d*$")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_MACROS = re.compile(r"PEAL_\w+|_GNU_SOURCE")
# What a clock says, or a time that is kept, and a duration behind it; or a duration that somebody asked for, behind
# anything. Constants are in range.
_TIME_SUM = re.compile(
    r"\b(?:now(?:\(\)|_)?|\w+_(?:at|since)_?|since_?|active|due_?) \+ (?!k[A-Z]|\d|std::chrono::|milliseconds|seconds)"
    r"|\+ (?:\w+(?:\.|->|\(\)\.))*\w*(?:timeout|idle|delay|grace|window|pause|patience|give_up)_?(?:\(\))?(?![\w.(])")
# Each message or request adds there; the options were bounded() when their owner was made.
_BOUNDED_BEFORE = {"peal/net/parts/connection_deadlines.cc", "peal/http/server/parts/http_waits.h"}
_TABS_ARE_SYNTAX = {"Makefile", "rules"}  # makefiles: ours, and debian/rules
_LONG_LINES_ARE_FINE = {".md", ".json", ".html", ".j2"}


def sizes(tree):
    for file in filter(lambda f: f.is_code, tree.files):
        if len(file.lines) > FILE_LINES:
            yield file.path, FILE_LINES + 1, "size", f"{len(file.lines)} lines, where a file may have {FILE_LINES}"
        for first, last, name in file.functions():
            if last - first + 1 > FUNCTION_LINES:
                yield (file.path, first, "size",
                       f"{name} has {last - first + 1} lines, where a function may have {FUNCTION_LINES}")


def licence_line(tree):
    for file in filter(lambda f: f.is_code, tree.files):
        at = 1 if file.lines and re.match(r"#!|<!doctype", file.lines[0], re.IGNORECASE) else 0
        if SPDX not in "".join(file.lines[at:at + 1]):
            yield file.path, at + 1, "spdx", f"the file does not open with `{SPDX}`"


def names(tree):
    folders = defaultdict(list)
    for file in tree.files:
        if file.suffix not in {".h", ".cc", ".c", ".py"}:
            continue
        if not _SNAKE.fullmatch(file.stem):
            yield file.path, 1, "name", f"{file.name} is not snake_case"
        if _PART.search(file.stem):
            yield file.path, 1, "name", f"{file.name}: split by what it decides, not into parts"
        # The kinds of starters are projects of their own, so the names of their files say what each of them has.
        if file.is_c and not file.path.startswith("starters/"):
            folders[re.sub(r"_(test|bench)$", "", file.stem)].append(file)
    for stem, files in folders.items():
        first = files[0]
        for file in files[1:]:
            if file.folder != first.folder:
                yield file.path, 1, "name", f"the name {stem} is taken by {first.path}"


def whitespace(tree):
    for file in tree.files:
        if file.name == "LICENSE":
            continue
        for number, line in enumerate(file.lines, 1):
            if "\t" in line and file.name not in _TABS_ARE_SYNTAX:
                yield file.path, number, "tab", "a tab; indent with spaces"
            if line != line.rstrip():
                yield file.path, number, "trailing-space", "white space at the end of the line"
            if len(line) > COLUMNS and file.suffix not in _LONG_LINES_ARE_FINE:
                yield file.path, number, "columns", f"{len(line)} columns, where a line may have {COLUMNS}"
        if file.text and not file.text.endswith("\n"):
            yield file.path, len(file.lines), "last-line", "the last line does not end"


def leftovers(tree):
    for file in tree.files:
        for number, line in enumerate(file.lines, 1):
            if match := _LEFTOVER.search(line):
                yield file.path, number, "leftover", f"{match[0]}: do it, or file an issue"


def header_guards(tree):
    for file in tree.files:
        if file.suffix == ".h" and "#pragma once" not in file.lines:
            yield file.path, 1, "pragma-once", "a header needs `#pragma once`"


def macros(tree):
    for file in filter(lambda f: f.suffix in {".h", ".cc"}, tree.files):
        for match in _DEFINE.finditer(file.uncommented):
            if not _MACROS.fullmatch(match[1]):
                line = file.line_at(file.uncommented, match.start(1))
                yield file.path, line, "macro", f"{match[1]}: macros are PEAL_* and few; use a constant or a function"


def time_sums(tree):
    for file in filter(lambda f: f.is_c and f.path.startswith("peal/") and not f.is_test, tree.files):
        if file.path in _BOUNDED_BEFORE or file.stem.endswith("_bench"):
            continue
        for match in _TIME_SUM.finditer(file.code):
            yield (file.path, file.line_at(file.code, match.start()), "time-sum",
                   "Duration::max() is never: add with later() or sum_of() of <peal/base/clock.h>")


def _exists(tree, includer, name):
    """Whether the tree has that header, or the .proto that protoc generates it from."""
    if tree.resolve(includer, name):
        return True
    proto = name.removesuffix(".pb.h") + ".proto"
    return name != proto and any((folder / proto).is_file() for folder in (tree.root, tree.root / includer.folder))


def include_style(tree):
    for file in filter(lambda f: f.is_c, tree.files):
        for include in file.includes:
            if include.name == "bits/stdc++.h":
                yield file.path, include.line, "umbrella", "<bits/stdc++.h>: include what is used"
            if "peal/" in include.name and not include.name.startswith("peal/"):
                yield file.path, include.line, "include", f"{include.name}: name a peal header from the root"
            elif include.name.startswith("peal/") and not include.angled:
                yield file.path, include.line, "include", f"write <{include.name}>, in angle brackets"
            elif (include.name.startswith("peal/") or not include.angled) and not _exists(tree, file, include.name):
                yield file.path, include.line, "include", f"{include.name} does not exist"


def umbrellas(tree):
    for file in tree.files:
        if file.suffix != ".h" or not file.path.startswith("peal/"):
            continue
        own = re.sub(r"\bnamespace\b[\w\s:]*[{]|[}]", "", file.code).strip()
        if not own and len(file.includes) > 1:
            yield file.path, 1, "umbrella", "a header that only includes others hides what is used"


RULES = [sizes, licence_line, names, whitespace, leftovers, header_guards, macros, time_sums, include_style, umbrellas]
