#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that a translated document still says what its original says.

docs/zh/README.md translates README.md, and docs/zh/X translates docs/X. A translation has the sections, the blocks of
code and the links of its original. At its end, it lists a hash of each section that it translates. If a section of the
original changes, the hash is wrong until somebody has looked at the translation and accepts it:

  tools/translations.py                       checks all; prints one line a finding, exits 1 if there is one
  tools/translations.py --accept FILE...      writes the hashes of the originals as they are now to the ends of FILEs
"""
import argparse
import hashlib
import posixpath
import re
import sys
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
LANGUAGES = ("zh",)
# What a language has as soon as it has a page at all, and the pages that have no original.
TRANSLATED = ("README.md", "docs/guide/*.md")
OF_ITS_OWN = {"glossary.md"}

_FENCE = re.compile(r"^ *(`{3,}|~{3,})")
_HEADING = re.compile(r"^(#+) +(.*?) *$")
_LINK = re.compile(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)|\b(?:src|srcset|href)=\"([^\"]+)\"")
_HASHES = re.compile(r"\n*<!-- translates: (\S+)\n(.*?)-->\n?\Z", re.DOTALL)
_FIGURES = re.compile(r"<!-- figures: .*?<!-- end of figures -->", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def anchor_of(title):
    """The anchor that the usual hosts make of a heading."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


class Section:
    """A heading and what follows it, up to the next heading. The text before the first heading is a section, too."""

    def __init__(self, line, level, title):
        self.line, self.level, self.title = line, level, title
        self.lines, self.blocks = [], []

    @property
    def text(self):
        return "\n".join(self.lines)

    def hash(self):
        """Of the words: neither line breaks, code, comments nor figures that a program writes count."""
        words = _COMMENT.sub("", _FIGURES.sub("", self.text)).split()
        return hashlib.sha256(" ".join([self.title, *words]).encode()).hexdigest()[:12]

    def figures(self):
        """The numbers between the marks of figures; None if there are no such marks."""
        found = _FIGURES.findall(self.text)
        return Counter(re.findall(r"\d+", " ".join(found))) if found else None


class Document:
    """One Markdown file as its sections."""

    def __init__(self, path, text):
        self.path = path
        match = _HASHES.search(text)
        self.hashes = [line.split()[0] for line in match[2].splitlines() if line.strip()] if match else None
        self.body = text[:match.start()] + "\n" if match else text
        self.sections = [Section(1, 0, "")]
        fence = None
        for number, line in enumerate(self.body.splitlines(), 1):
            section, opens = self.sections[-1], _FENCE.match(line)
            if fence is not None:
                section.blocks[-1].append(line.strip())
                fence = None if opens and line.strip() == fence else fence
            elif opens:
                fence = opens[1]
                section.blocks.append([line.strip()])
            elif heading := _HEADING.match(line):
                self.sections.append(Section(number, len(heading[1]), heading[2]))
            else:
                section.lines.append(line)

    def anchor_index(self, anchor):
        """Which section has that anchor; the anchor itself if none has."""
        for number, section in enumerate(self.sections):
            if section.level and anchor_of(section.title) == anchor:
                return number
        return anchor


def original_of(path):
    """The document that a path is a translation of; the path itself if it is none."""
    for language in LANGUAGES:
        folder = f"docs/{language}"
        if path == f"{folder}/README.md":
            return "README.md"
        if path == folder or path.startswith(folder + "/"):
            return "docs" + path.removeprefix(folder)
    return path


class Checker:
    """Compares the documents of one repository."""

    def __init__(self, root):
        self.root, self._read = Path(root), {}

    def document(self, path):
        if path not in self._read:
            self._read[path] = Document(path, (self.root / path).read_text(encoding="utf-8"))
        return self._read[path]

    def pages(self, language):
        folder = self.root / "docs" / language
        return sorted(str(path.relative_to(self.root)) for path in folder.rglob("*.md")) if folder.is_dir() else []

    def findings(self):
        """Every finding as (path, line, sentence)."""
        for language in LANGUAGES:
            pages = self.pages(language)
            for path in pages:
                if path.removeprefix(f"docs/{language}/") not in OF_ITS_OWN:
                    yield from self._compared(path)
            wanted = [str(one.relative_to(self.root)) for pattern in TRANSLATED for one in self.root.glob(pattern)]
            present = {original_of(path) for path in pages}
            for path in sorted(wanted) if pages else []:
                if path not in present:
                    yield path, 1, f"has no translation in docs/{language}/"

    def _compared(self, path):
        if not (self.root / original_of(path)).is_file():
            yield path, 1, f"{original_of(path)}, which it translates, does not exist"
            return
        ours, theirs = self.document(path), self.document(original_of(path))
        if (fault := self._difference_of_sections(ours, theirs)) is not None:
            yield fault
            return
        for section, original in zip(ours.sections, theirs.sections, strict=True):
            for sentence in self._faults(ours, section, theirs, original):
                yield path, section.line, sentence
        yield from self._changed(ours, theirs)

    @staticmethod
    def _difference_of_sections(ours, theirs):
        for number, original in enumerate(theirs.sections):
            if number >= len(ours.sections):
                return ours.path, ours.sections[-1].line, (f"lacks the section \"{original.title}\" of {theirs.path}, "
                                                           f"line {original.line}")
            if ours.sections[number].level != original.level:
                return ours.path, ours.sections[number].line, (
                    f"this heading has level {ours.sections[number].level}, but \"{original.title}\" of "
                    f"{theirs.path}, line {original.line}, has level {original.level}")
        if len(ours.sections) > len(theirs.sections):
            return ours.path, ours.sections[len(theirs.sections)].line, f"{theirs.path} has no such section"
        return None

    def _faults(self, ours, section, theirs, original):
        for number, block in enumerate(original.blocks):
            if number >= len(section.blocks):
                yield f"lacks the block of code that begins `{(block[1:2] or block)[0]}`"
            elif section.blocks[number] != block:
                yield f"block of code {number + 1} of this section differs from that of {theirs.path}"
        if len(section.blocks) > len(original.blocks):
            yield f"has more blocks of code than the section of {theirs.path}"
        links, expected = self._links(ours, section), self._links(theirs, original)
        for target in sorted((expected - links).elements(), key=str):
            yield f"lacks a link to {self._shown(target)}"
        for target in sorted((links - expected).elements(), key=str):
            yield f"links to {self._shown(target)}, as {theirs.path} does not"
        figures = section.figures()
        if figures is not None and figures != original.figures():
            yield f"its figures differ from those of {theirs.path}"

    @staticmethod
    def _shown(target):
        place, anchor = target
        return f"{place}, section {anchor}" if anchor else place

    def _links(self, document, section):
        """What a section links to: originals instead of translations, numbers of sections instead of anchors."""
        found = Counter()
        for first, second in _LINK.findall(re.sub(r"`[^`]*`", "", section.text)):
            target, _, anchor = (first or second).partition("#")
            if ":" in target:
                found[first or second, ""] += 1
                continue
            place = posixpath.normpath(posixpath.join(posixpath.dirname(document.path), target)) if target else (
                document.path)
            original = original_of(place)
            if original != place and place.split("/", 2)[2:] and place.split("/", 2)[2] in OF_ITS_OWN:
                continue
            if not anchor and original == original_of(document.path):
                continue  # the same page in the other language
            if anchor and place.endswith(".md") and (self.root / place).is_file():
                anchor = self.document(place).anchor_index(anchor)
            found[original, anchor] += 1
        return found

    @staticmethod
    def _changed(ours, theirs):
        if ours.hashes is None:
            yield ours.path, 1, f"says of no section which text of {theirs.path} it translates: {_advice(ours.path)}"
            return
        if len(ours.hashes) != len(theirs.sections):
            yield ours.path, 1, f"has {len(ours.hashes)} hashes for {len(theirs.sections)} sections"
            return
        for said, section, original in zip(ours.hashes, ours.sections, theirs.sections, strict=True):
            if said != original.hash():
                yield ours.path, section.line, (f"\"{original.title or 'the beginning'}\" of {theirs.path}, line "
                                                f"{original.line}, has changed: translate it, then "
                                                f"{_advice(ours.path)}")

    def accept(self, path):
        """Writes the hashes of the original to the end of a translation. Returns a sentence if the sections differ."""
        original = original_of(path)
        if original == path or not (self.root / original).is_file():
            return f"{path} is no translation of a document"
        ours, theirs = self.document(path), self.document(original)
        if fault := self._difference_of_sections(ours, theirs):
            return f"{fault[0]}:{fault[1]}: {fault[2]}"
        lines = [f"{one.hash()} {one.title}".rstrip().replace("--", "- -") for one in theirs.sections]
        text = f"{ours.body.rstrip()}\n\n<!-- translates: {original}\n" + "\n".join(lines) + "\n-->\n"
        (self.root / path).write_text(text, encoding="utf-8")
        del self._read[path]
        return None


def _advice(path):
    return f"`tools/translations.py --accept {path}`"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept", nargs="+", metavar="FILE", default=[], help="translations that are right")
    parser.add_argument("--root", type=Path, default=REPOSITORY, help="the repository")
    parsed = parser.parse_args(arguments)
    checker = Checker(parsed.root)
    refused = [fault for path in parsed.accept if (fault := checker.accept(posixpath.normpath(path)))]
    if parsed.accept:
        print("\n".join(refused), end="\n" if refused else "")
        return 1 if refused else 0
    found = list(checker.findings())
    for path, line, sentence in found:
        print(f"{path}:{line}: {sentence}")
    print(f"translations: {len(found)} findings in {sum(len(checker.pages(one)) for one in LANGUAGES)} pages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
