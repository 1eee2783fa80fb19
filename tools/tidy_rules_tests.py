# SPDX-License-Identifier: BSD-3-Clause
"""Rules about tests and documents: no sleeping, no fixed ports, nothing left unbuilt, quotes that hold, programs of
releases that stay as they are.

A rule is a generator over the tree of (path, line, rule, sentence).
"""
import hashlib
import re

# Stopping the thread is what is meant; sleeping on a loop or on a simulated clock is fine.
_SLEEPS = re.compile(r"\bthis_thread\s*::\s*sleep_|\b(usleep|nanosleep|clock_nanosleep)\s*\(|(?<![\w>)])::sleep\s*\(")
_PYTHON_SLEEP = re.compile(r"\b(time\.sleep|from time import .*\bsleep\b)")
_HOST = r"(?:\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]*\]|localhost)"
_FIXED_PORTS = [
    re.compile(r"\bsin6?_port\s*=\s*htons\(\s*[1-9]\d*\s*\)"),
    re.compile(r"\b(?:listen|bind|serve|Server|Listener)\w*\s*[({][^;]*?\"" + _HOST + r":[1-9]\d*\""),
    re.compile(r"--listen[ =\",]+" + _HOST + r":[1-9]\d*"),
]
_BUILT_FOLDERS = re.compile(r"peal_test_folder\(\s*[\w${}]+\s+([\w/${}]+)")
_FLOORS = re.compile(r"foreach\(\s*floor\s+([^)]*)\)")
_PYTHON_GLOBS = re.compile(r"\$\{PROJECT_SOURCE_DIR\}/(\w+)/\*_test\.py")

_QUOTE = re.compile(r"^<!-- quote: (?P<path>[\w./-]+)(?: \[(?P<part>\w+)\])? -->$")
_MARK = re.compile(r"(?://|#) (?P<side>Quoted in docs|End of quote): \[(?P<part>\w+)\]")
_FENCE = re.compile(r"^```(\w*)$")


def _is_cpp_test(file):
    return file.suffix in {".cc", ".h", ".c"} and file.is_test and not file.stem.endswith("_bench")


def sleeps(tree):
    for file in tree.files:
        if _is_cpp_test(file):
            pattern, text = _SLEEPS, file.code
        elif file.name.endswith("_test.py") and not file.path.startswith("tools/"):
            pattern, text = _PYTHON_SLEEP, file.text
        else:
            continue
        for match in pattern.finditer(text):
            line = file.line_at(text, match.start())
            yield file.path, line, "sleep", "a test waits for what it expects, it does not sleep"


def fixed_ports(tree):
    for file in filter(_is_cpp_test, tree.files):
        for pattern in _FIXED_PORTS:
            for match in pattern.finditer(file.uncommented):
                line = file.line_at(file.uncommented, match.start())
                yield file.path, line, "fixed-port", "a test listens on port 0 and asks which it got"


def unbuilt(tree):
    """Every test must lie under a folder that cmake/tests.cmake searches. The tests in starters/ belong to the projects
    that `peal new` writes, and tests/consume/starters.sh runs them."""
    cmake = tree.by_path.get("cmake/tests.cmake")
    if cmake is None:
        return
    floors = _FLOORS.search(cmake.text)
    folders = []
    for folder in _BUILT_FOLDERS.findall(cmake.text):
        if "${floor}" in folder:
            folders += [folder.replace("${floor}", floor) for floor in (floors[1].split() if floors else [])]
        else:
            folders.append(folder)
    pythons = _PYTHON_GLOBS.findall(cmake.text)
    for file in filter(lambda f: not f.path.startswith("starters/"), tree.files):
        searched = folders if file.suffix == ".cc" else pythons
        if file.name.endswith(("_test.cc", "_test.py")) and not file.path.startswith(tuple(f + "/" for f in searched)):
            yield file.path, 1, "unbuilt", "no line of cmake/tests.cmake finds this test"
        elif re.fullmatch(r"test_\w+\.py", file.name):
            yield file.path, 1, "unbuilt", "a Python test is named *_test.py"


def released(tree):
    """Programs that were written for a release show that later versions still compile them. So each has its checksum in
    SHA256SUMS beside it."""
    folder = "tests/consume/released/"
    sums = tree.by_path.get(folder + "SHA256SUMS")
    known = dict(reversed(line.split()) for line in sums.lines) if sums else {}
    for file in filter(lambda f: f.path.startswith(folder) and f is not sums, tree.files):
        if known.get(file.name) != hashlib.sha256(file.text.encode()).hexdigest():
            yield file.path, 1, "released", "changes only with SHA256SUMS and an entry of CHANGELOG.md for users"


def quoted(source, part):
    """The lines a document must show: the file without its SPDX line, or the region between the marks of `part`.

    A region begins after `// Quoted in docs: [part]` and ends before `// End of quote: [part]`. Regions may overlap.
    Marks are never shown.
    """
    marks = [_MARK.fullmatch(line.strip()) for line in source.lines]
    if part is None:
        begin, end = int("SPDX" in "".join(source.lines[:1])), len(source.lines)
    else:
        sides = [(mark["side"], number) for number, mark in enumerate(marks) if mark and mark["part"] == part]
        if [side for side, _ in sides] != ["Quoted in docs", "End of quote"]:
            return None
        (_, begin), (_, end) = sides
    return [source.lines[number] for number in range(begin, end) if not marks[number]]


def quotes(tree):
    for file in filter(lambda f: f.suffix == ".md", tree.files):
        number, quote = 0, None
        while number < len(file.lines):
            line = file.lines[number]
            fence = _FENCE.match(line)
            if fence:
                end = next((n for n in range(number + 1, len(file.lines)) if file.lines[n] == "```"), len(file.lines))
                yield from _check_block(tree, file, number, end, fence[1], quote)
                number, quote = end, None
            elif line.strip():
                if quote:
                    yield file.path, number, "quote", "a quote line stands right before its code block"
                quote = _QUOTE.match(line)
            number += 1


def _check_block(tree, file, start, end, language, quote):
    if quote is None:
        if language in {"cpp", "c++"}:
            yield file.path, start + 1, "quote", "C++ in a document is a quote: <!-- quote: examples/... --> before it"
        return
    source = tree.by_path.get(quote["path"])
    expected = quoted(source, quote["part"]) if source else None
    if expected is None:
        yield file.path, start + 1, "quote", f"{quote[0]} names nothing that exists"
    elif [line.strip() for line in file.lines[start + 1:end]] != [line.strip() for line in expected]:
        yield file.path, start + 1, "quote", f"the block differs from {quote['path']}"


RULES = [sleeps, fixed_ports, unbuilt, released, quotes]
