# SPDX-License-Identifier: BSD-3-Clause
"""Rules of the sources that the build may compile as one: a dozen of a library's, or eight of a test program's.

Which sources meet depends on the options of the build and on how many files there are. So one build may fail although
another one is fine, and a new file may break sources that nobody touched.
"""
import re
from collections import defaultdict

from tidy_functions import head_of, matching_brace, parameter_types

# Folders whose sources are compiled together. Each program of examples/, starters/ and versus/ stands by itself.
_TOGETHER = ("cli", "load", "models", "peal")
_LIBRARIES_OF_THEIR_OWN = ("sim", "tls", "protobuf")
_UNNAMED = re.compile(r"^namespace \{", re.MULTILINE)
_NAMED = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)
_TEST_MACRO = re.compile(r"[A-Z][A-Z_]+$")


def _target(file):
    """A name for the library or the test program that a source is compiled into."""
    folders = file.path.split("/")
    if file.is_test:
        return "/".join(folders[:2]) if folders[0] in ("peal", "tests") else folders[0]
    return "/".join(folders[:2]) if folders[1] in _LIBRARIES_OF_THEIR_OWN else folders[0]


def _unnamed_functions(file):
    """Yields (line, signature) of each function in an unnamed namespace; the signature has its namespace's name."""
    spans = [(m.start(), matching_brace(file.code, m.end() - 1)) for m in _UNNAMED.finditer(file.code)]
    lines = file.code.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    around = " ".join(_NAMED.findall(file.code))
    for first, last, name in file.functions():
        at = starts[first - 1]
        is_free = not lines[first - 1].startswith(" ") and name != "[]" and not _TEST_MACRO.match(name)
        if is_free and any(begin < at < end for begin, end in spans):
            yield first, (around, name, parameter_types(head_of("".join(lines[first - 1:last]))))


def twins(tree):
    """An unnamed namespace is one for all sources that are compiled as one, so a function may be in one of them."""
    seen = defaultdict(list)
    for file in tree.files:
        if file.suffix == ".cc" and file.path.startswith(tuple(f"{folder}/" for folder in (*_TOGETHER, "tests"))):
            for line, signature in _unnamed_functions(file):
                seen[(_target(file), *signature)].append((file.path, line))
    for (_, _, name, _), places in seen.items():
        for path, line in places[1:]:
            yield path, line, "twin", f"{places[0][0]} has {name}() too, and the build may compile both as one source"


RULES = [twins]
