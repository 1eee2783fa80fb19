# SPDX-License-Identifier: BSD-3-Clause
"""What the public headers declare, as plain values: no libclang from here on.

A Header has its declarations in the order of the file. A class has members, which are declarations again. Everything
internal is left out before: namespace peal::detail, private members, folders `parts/`.
"""
import re
from dataclasses import dataclass, field

CLASS_KINDS = ("class", "struct", "union")
# The functions that `co_await` and select() call. They are no entries of their own.
AWAITABLE = {"await_ready", "await_suspend", "await_resume", "selectable", "withdrawn", "suffices"}
# Such a phrase says that the comment is about the declarations that follow it, too.
_ABOUT_SEVERAL = re.compile(r"\b(?:Each of these|These|Both|All of these)(?: \w+)? (?:functions|overloads|constructors|"
                            r"callbacks|members)\b|^The (?:functions|callbacks|overloads)\b|\beither limit\b")


@dataclass
class Declaration:
    kind: str  # class, struct, union, enum, enumerator, function, field, variable, alias, concept, macro
    name: str
    scope: str = ""  # the classes around it: "Outer::Inner"
    signature: str = ""
    line: int = 0
    last_line: int = 0
    comment: list = field(default_factory=list)
    access: str = "public"
    members: list = field(default_factory=list)  # of a class, or the enumerators of an enum
    bases: list = field(default_factory=list)  # names of public bases, as written
    type: str = ""  # of a field or a variable; what a function returns
    default: str = ""
    special: bool = False  # it copies, moves or destroys
    folded: bool = False  # nobody says more of it than that it is there: special, defaulted or deleted
    section: str = ""  # the heading of the header that it stands under
    shares: bool = False  # its comment is that of the declaration before it
    template: bool = False
    header: str = ""
    awaited: str = ""  # what `co_await` of the result gives, if the result's type is internal

    @property
    def qualified(self):
        return f"{self.scope}::{self.name}" if self.scope else self.name

    @property
    def is_class(self):
        return self.kind in CLASS_KINDS


@dataclass
class Header:
    path: str
    essay: list
    declarations: list

    @property
    def floor(self):
        return self.path.split("/")[1]

    @property
    def room(self):
        return self.path.rpartition("/")[0].removeprefix("peal/")

    @property
    def name(self):
        return self.path.rpartition("/")[2]

    def main(self):
        """The class that the essay is about; None if the essay is about the header as a whole."""
        classes = [one for one in self.declarations if one.is_class]
        first = re.match(r"\W*(\w+)", " ".join(self.essay))
        stem = self.name.removesuffix(".h").replace("_", "")
        named = first[1].lower() if first else ""
        for one in classes:
            if one.name.lower() == stem and (named == stem or not any(named == c.name.lower() for c in classes)):
                return one
        return next((one for one in classes if one.name.lower() == named), None)


def _names(text, one):
    """Whether a text is about a declaration by its name: a function with parentheses, a plain word in backquotes."""
    name = re.escape(one.name)
    if one.kind == "function":
        return bool(re.search(rf"(?<!::)\b{name}\(", text))
    if "_" in one.name or one.name[0].isupper() or re.match("k[A-Z]", one.name):
        return bool(re.search(rf"(?<!::)\b{name}\b", text))
    return f"`{one.name}`" in text


def share_comments(members, is_adjacent):
    """Gives a declaration without a comment that of the one before it, if both stand together and the comment is about
    both. `is_adjacent(before, after)` says whether they stand together."""
    source = None
    for before, one in zip([None, *members], members):
        if one.comment:
            source = one
            continue
        if one.special:
            continue
        if before is None or source is None or not is_adjacent(before, one):
            source = None
            continue
        text = " ".join(source.comment)
        same = one.name == source.name and one.kind == source.kind
        named = one.kind in (source.kind, "function") and _names(text, one)
        if same or named or _ABOUT_SEVERAL.search(text):
            one.comment, one.shares = source.comment, True


def every(declarations):
    """All of them and all their members."""
    for one in declarations:
        yield one
        yield from every(one.members)


def counted(headers):
    """Every (header, declaration) that has an entry, a row or a page of its own."""
    for header in headers:
        for one in every(header.declarations):
            if not (one.folded or one.name in AWAITABLE):
                yield header, one


def undocumented(headers):
    """Those of counted() that have no comment, neither of their own nor a shared one. A class or an enum counts as
    documented if the essay of its header is about it, or if each of its members is documented."""
    for header, one in counted(headers):
        members = [member for member in one.members if not member.folded]
        by_members = bool(members) and all(member.comment for member in members)
        if not (one.comment or by_members or one is header.main() and header.essay):
            yield header, one
