# SPDX-License-Identifier: BSD-3-Clause
"""Rules about what documents and comments say of the tree: paths and links that exist, sizes that are so, a front page
that can be read at once, translations that say what their originals say.

A rule is a generator over the tree of (path, line, rule, sentence).
"""
import re
from functools import cache

import tidy_rules_house
import translations

FRONT_PAGE = "README.md"
FRONT_PAGE_LINES, FRONT_PAGE_WORDS = 200, 1400
SIZES = "docs/lineage.md"
SIZE_TOLERANCE = 0.05  # a size is counted when a page is written, and the code goes on

_TOP = r"(?:\.ci|\.github|cli|cmake|deploy|docs|examples|fuzz|load|models|peal|scripts|starters|tests|tools|versus)"
_ENDING = r"(?:cc|cmake|h|html|j2|json|md|proto|py|sh|txt|yml|yaml)"
# A path in backquotes, as a whole; and a file that a comment names.
_QUOTED_PATH = re.compile(rf"`({_TOP}/(?:[\w./*{{}},-]*/)?(?:[\w*{{}},-]*|[\w.*{{}},-]*\.{_ENDING}))`")
_COMMENT_PATH = re.compile(rf"(?<![\w/.<-]){_TOP}/[\w./-]*\.{_ENDING}\b")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*?) *$")
_TARGET = re.compile(r"^([a-z][a-z-]*):")
_MAKE = re.compile(r"(?:`|^|^\$ |&& )make ([a-z][a-z-]*)(?=[`,]| *$| *#| [A-Z]+=)")
_SIZE_ROW = re.compile(r"^\| `(\w+)` \| ([\d,]+) \|")
# Files that a page tells people to write, and what a build makes.
_MADE = re.compile(r"NAME|^docs/images/")


def _without_fences(lines):
    """Each line outside of ``` fences, with its number."""
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def _alternatives(path):
    """`a/{b,c}` as a/b and a/c."""
    match = re.search(r"\{([^{}]*)\}", path)
    if not match:
        return [path]
    return [other for word in match[1].split(",")
            for other in _alternatives(path[:match.start()] + word + path[match.end():])]


def _is_there(tree, path):
    if _MADE.search(path):
        return True
    if "*" in path:
        return any(tree.root.glob(path.rstrip("/")))
    return (tree.root / path).exists()


def paths(tree):
    for file in tree.files:
        if file.suffix == ".md" and file.name != "CHANGELOG.md":
            for number, line in enumerate(file.lines, 1):
                for match in _QUOTED_PATH.finditer(line):
                    if missing := [path for path in _alternatives(match[1]) if not _is_there(tree, path)]:
                        yield file.path, number, "path", f"{missing[0]} does not exist"
        elif file.is_c:
            for number, (line, code) in enumerate(zip(file.lines, file.uncommented.splitlines(), strict=False), 1):
                for match in _COMMENT_PATH.finditer(line, len(code.rstrip())):
                    if not _is_there(tree, match[0]):
                        yield file.path, number, "path", f"{match[0]} does not exist"


@cache
def _anchors(path):
    """The anchors that a page has, as the usual hosts make them of its headings."""
    matches = (_HEADING.match(line) for _, line in _without_fences(path.read_text(encoding="utf-8").splitlines()))
    return {translations.anchor_of(match[1]) for match in matches if match}


def links(tree):
    for file in filter(lambda f: f.suffix == ".md", tree.files):
        # The head of a page that a program writes stands in docs/, too.
        here = tree.root / ("docs" if file.stem.endswith("_head") else file.folder)
        for number, line in _without_fences(file.lines):
            for match in _LINK.finditer(re.sub(r"`[^`]*`", "", line)):
                target, _, anchor = match[1].partition("#")
                if ":" in target:
                    continue
                page = here / target if target else tree.root / file.path
                if not page.exists():
                    yield file.path, number, "link", f"{target} does not exist"
                elif anchor and page.suffix == ".md" and anchor not in _anchors(page):
                    yield file.path, number, "link", f"{match[1]}: that page has no such heading"


def make_targets(tree):
    """The commands `make TARGET` of documents, in backquotes or at the beginning of a line of a block."""
    targets = {match[1] for file in tree.files if file.path == "Makefile" for match in map(_TARGET.match, file.lines)
               if match}
    for file in filter(lambda f: f.suffix == ".md" and f.path != "CHANGELOG.md", tree.files):
        for number, line in enumerate(file.lines, 1):
            for match in _MAKE.finditer(line):
                if match[1] not in targets:
                    yield file.path, number, "make-target", f"there is no target {match[1]}"


def sizes(tree):
    """The lines of code that the page on lineage names, for each floor, beside those that are counted."""
    spent = {floor.removeprefix("peal/"): lines for floor, (lines, _) in tidy_rules_house.spent(tree).items()}
    for file in filter(lambda f: f.path == SIZES, tree.files):
        for number, line in enumerate(file.lines, 1):
            if match := _SIZE_ROW.match(line):
                said, counted = int(match[2].replace(",", "")), spent.get(match[1], 0)
                if abs(said - counted) > SIZE_TOLERANCE * counted:
                    yield file.path, number, "doc-size", f"{match[1]} has {counted} lines of code"


def front_page(tree):
    for file in filter(lambda f: f.path == FRONT_PAGE, tree.files):
        if len(file.lines) > FRONT_PAGE_LINES:
            yield file.path, FRONT_PAGE_LINES, "front-page", f"{len(file.lines)} lines, of {FRONT_PAGE_LINES}"
        if (words := len(file.text.split())) > FRONT_PAGE_WORDS:
            yield file.path, 1, "front-page", f"{words} words, of {FRONT_PAGE_WORDS}: move details to docs/"


def translated_pages(tree):
    for path, line, sentence in translations.Checker(tree.root).findings():
        yield path, line, "translation", sentence


RULES = [paths, links, make_targets, sizes, front_page, translated_pages]
