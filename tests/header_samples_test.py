# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the code samples in the comments of peal's headers.

A sample is an indented block of a comment, after an empty comment line or a line that ends with a colon. `{ ... }` in a
sample stands for an empty block, and `... f() ... g() ...` for the statements f() and g(). The names that a sample uses
and does not declare are declared in header_samples/contexts.txt.
"""
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONTEXTS = Path(__file__).parent / "header_samples/contexts.txt"
BUILD = Path(os.environ["PEAL_BUILD_DIR"])
SAMPLE = re.compile(r"( *)//   (?=\S)")
CODE_END = re.compile(r"[;{}]\s*(//.*)?$")
NO_CODE = re.compile(r"- |\d\. |message |\S+(, \S+)* {2,}(?! |//)")  # a list, a .proto file, a table
DECLARATION = re.compile(r"[\w:<>]+ \w+\([^(){]*\) \{|template|\[\[|constexpr ")


def paragraphs(block):
    """Splits a block at its empty lines. Each part is a list of (line number, text)."""
    parts = [[]]
    for number, text in block:
        if text.strip():
            parts[-1].append((number, text))
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def is_code(part):
    return any(CODE_END.search(text) for _, text in part) and not NO_CODE.match(part[0][1])


def samples_in(text):
    """Returns the samples of a header. Each is a list of (line number, text)."""
    lines = text.split("\n")
    found, at = [], 0
    while at < len(lines):
        opening = SAMPLE.match(lines[at])
        before = lines[at - 1].strip()
        at += 1
        if not opening or not (before == "//" or before.endswith((":", "."))):
            continue
        inside = re.compile(re.escape(opening[1]) + r"//(   .*)?$")
        block = []
        at -= 1
        while at < len(lines) and inside.match(lines[at]):
            block.append((at + 1, lines[at].strip()[5:]))
            at += 1
        code = [line for part in paragraphs(block) if is_code(part) for line in part]
        if code:
            found.append(code)
    return found


def without_ellipses(text):
    code = re.split(r"\s+// ", text)[0].replace("{ ... }", "{}")
    if code.strip() == "...":
        return ""
    if "..." in code:
        code = " ".join(f"{part.strip().rstrip(';')};" for part in code.split("...") if part.strip().rstrip(";"))
    return code


def parted(sample):
    """Returns the declarations of a sample that stand outside of every function, and its statements."""
    declarations, statements = [], []
    inside = False
    for number, text in sample:
        inside = inside or bool(DECLARATION.match(text))
        (declarations if inside else statements).append((number, text))
        if text.startswith("}") or DECLARATION.match(text) and text.endswith((";", "}")):
            inside = False
    return declarations, statements


def contexts():
    """Returns the declarations for each header, by its path."""
    found = {}
    for part in re.split(r"(?m)^\[(?=all|peal/)", CONTEXTS.read_text())[1:]:
        path, _, code = part.partition("]\n")
        found[path] = code
    return found


def numbered(path, lines):
    return "".join(f'#line {number} "{path}"\n{without_ellipses(text)}\n' for number, text in lines)


def unit(headers):
    """Returns the text of a source file that includes the headers and has all their samples."""
    declared = contexts()
    out = [f"#include <{path}>\n" for path in headers] + [declared.pop("all")]
    for path, samples in headers.items():
        for place, sample in enumerate(samples):
            declarations, statements = parted(sample)
            context = declared.pop(path if place == 0 else f"{path} {place + 1}", "")
            waits = any("co_" in text for _, text in statements)
            out.append(f"namespace sample_{len(out)} {{\n{context}\n{numbered(path, declarations)}"
                       f"{'peal::Task<>' if waits else 'void'} sample() {{\n{numbered(path, statements)}"
                       f"{'co_return;' if waits else ''}\n}}\n}}\n")
    assert not declared, f"there are no such samples: {list(declared)}"
    return "".join(out)


def all_headers():
    found = {}
    for path in sorted((ROOT / "peal").rglob("*.h")):
        if samples := samples_in(path.read_text()):
            found[path.relative_to(ROOT).as_posix()] = samples
    return found


def flags():
    """Returns the compiler and its options, as for a source that is built already."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    words = shlex.split(next(each["command"] for each in commands if "protobuf_tests" in each["command"]))
    kept = [word for word in words[1:] if word.startswith(("-I", "-D", "-std"))]
    for place, word in enumerate(words):
        if word == "-isystem":
            kept += words[place:place + 2]
    return [words[0], *kept]


def test_samples_in_comments_of_headers_compile(tmp_path):
    headers = all_headers()
    assert sum(len(samples) for samples in headers.values()) > 60
    source = tmp_path / "samples.cc"
    source.write_text(unit(headers))
    done = subprocess.run([*flags(), "-fsyntax-only", "-w", source], cwd=BUILD, text=True,
                          capture_output=True, check=False)
    errors = [line for line in done.stderr.splitlines() if " error: " in line]
    assert done.returncode == 0 and not errors, "\n".join(errors)
