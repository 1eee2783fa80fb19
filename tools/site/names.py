# SPDX-License-Identifier: BSD-3-Clause
"""Where in the reference each name is described, and which name a word of a comment or a signature means."""
import posixpath
import re
from collections import defaultdict

from declarations import AWAITABLE, every

HOME = "reference"
_OPERATORS = {"==": "eq", "!=": "ne", "<": "lt", ">": "gt", "=": "assign", "()": "call", "[]": "at", "*": "star",
              "->": "arrow", "<=>": "compare", "+": "plus", "-": "minus", "+=": "add", "-=": "subtract", "&": "and",
              "|": "or", "++": "next", "--": "before", "<<": "shift", ">>": "unshift"}


def anchor_of(name):
    """The anchor of a member's entry."""
    if name.startswith("~"):
        return "destructor"
    if name.startswith("operator") and not name.startswith("operator "):
        mark = name.removeprefix("operator").strip()
        return "operator-" + _OPERATORS.get(mark, re.sub(r"\W+", "-", mark).strip("-") or "other")
    return re.sub(r"\W+", "-", name).strip("-")


def anchor_in(one, top):
    """The anchor of a declaration on the page of the class `top`, or on a header's page ("")."""
    scope = one.scope[len(top):] if one.scope == top or one.scope.startswith(f"{top}::") or not top else one.scope
    return "-".join([*filter(None, scope.split("::")), anchor_of(one.name)])


def page_of(header, one):
    """The page of a class, relative to the site."""
    return f"{HOME}/{header.room}/{one.name}.html"


def page_of_header(header):
    return f"{HOME}/{header.room}/{header.name.replace('.', '_')}.html"


def has_page(header):
    """Whether a header has a page besides those of its classes. What is internal as a whole has none."""
    return bool(header.declarations) and _says_more(header)


def _says_more(header):
    return any(not one.is_class for one in header.declarations) or bool(header.essay and header.main() is None)


def relative(page, target):
    """The link from one page of the site to another, whose anchor is kept."""
    path, mark, anchor = target.partition("#")
    if path == page and anchor:
        return mark + anchor
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + mark + anchor


class Names:
    """Every public name with its place."""

    def __init__(self, headers, documents=()):
        """`documents` has the page of each document of the repository, by path."""
        self._documents = {path: page.removesuffix(".md") + ".html" for path, page in dict(documents).items()}
        self._places = {}  # qualified name: page and anchor
        self._by_member = defaultdict(set)  # the name of a member: places
        self.headers = {}  # path of a header: page
        self._aliases = {}  # the name of an alias: the class that it means, if that is of the API
        for header in headers:
            own = page_of_header(header)
            for one in header.declarations:
                page = page_of(header, one) if one.is_class else own
                self._places.setdefault(one.name, page if one.is_class else f"{page}#{anchor_of(one.name)}")
                if one.kind == "alias" and (match := re.search(r"=\s*(?:peal::)?(\w+)", one.signature)):
                    self._aliases[one.name] = match[1]
                self._add_members(one, page, one.qualified if one.is_class else "")
            main = header.main() or next((one for one in header.declarations if one.is_class), None)
            if has_page(header):
                self.headers[header.path] = own
            elif main:
                self.headers[header.path] = page_of(header, main)
        self._by_file = {path.rpartition("/")[2]: place for path, place in self.headers.items()}

    def _add_members(self, one, page, top):
        for member in every(one.members):
            is_constructor = member.name.lstrip("~") == member.scope.rpartition("::")[2]
            if member.folded or is_constructor or member.name in AWAITABLE or member.access == "private":
                continue
            place = f"{page}#{anchor_in(member, top)}"
            self._places.setdefault(member.qualified, place)
            self._by_member[member.name].add(place)
            if member.kind == "enum" and not re.match(r"enum (?:class|struct)", member.signature):
                for value in member.members:
                    self._places.setdefault(f"{member.scope}::{value.name}", f"{page}#{anchor_in(value, top)}")

    def place(self, word, scope=""):
        """The place that `word` means inside of `scope`, such as "Server" or "Outer::Inner"; None if it is no public
        name."""
        word = word.removeprefix("::").removeprefix("peal::")
        first, _, rest = word.partition("::")
        if rest and first in self._aliases:
            word = f"{self._aliases[first]}::{rest}"
        while True:
            if found := self._places.get(f"{scope}::{word}" if scope else word):
                return found
            if not scope:
                return None
            scope = scope.rpartition("::")[0]

    def is_alias(self, word):
        return word in self._aliases

    def place_of_member(self, word):
        """The place of a member that only one class has."""
        places = self._by_member.get(word, ())
        return next(iter(places)) if len(places) == 1 else None

    def place_of_header(self, path):
        """The page of a header or a document, named from the root, or a header's by its file name alone."""
        return self._documents.get(path) or self.headers.get(path) or self._by_file.get(path)

    def all(self):
        """(qualified name, place), in the order of the alphabet."""
        return sorted(self._places.items(), key=lambda item: (item[0].lower(), item[0]))
