#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lists what the shared libpeal.so exports: cmake/libpeal.map, the version script of its linker.

    shared_exports.py           writes the list
    shared_exports.py --check   exits 1 if the list is not what the headers declare

The list holds what a program that includes public headers may need from the library. Public headers are those outside
of folders `parts/`; the headers of peal::tls, peal::sim and peal::protobuf are left out, for these libraries are
static. Exported are: functions that are not inline; all variables, so that program and library share one; the virtual
tables and type information of classes; and every instance of a template. Everything else is local to the library.
"""

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from clang.cindex import Cursor, CursorKind, StorageClass, TranslationUnit

from project_version import project_version
from public_headers import parse, public_headers

REPOSITORY = Path(__file__).resolve().parent.parent
MAP = Path("cmake/libpeal.map")
ROOMS_OF_OTHER_LIBRARIES = {"tls", "sim", "protobuf"}
FUNCTIONS = {CursorKind.FUNCTION_DECL, CursorKind.CXX_METHOD, CursorKind.CONSTRUCTOR, CursorKind.DESTRUCTOR,
             CursorKind.CONVERSION_FUNCTION}
CLASSES = {CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL}
TEMPLATES = {CursorKind.CLASS_TEMPLATE, CursorKind.FUNCTION_TEMPLATE}
# fmt's types have its version in their names.
VERSIONED = re.compile(r"\bfmt::v\d+::")


def headers_of_core(root: Path) -> list[str]:
    """The public headers whose declarations libpeal.so defines."""
    return [path for path in public_headers(root) if path.split("/")[1] not in ROOMS_OF_OTHER_LIBRARIES]


def qualified(cursor: Cursor) -> str:
    """peal::Outer::name"""
    parents = cursor.semantic_parent
    above = "" if parents is None or parents.kind == CursorKind.TRANSLATION_UNIT else qualified(parents) + "::"
    # A template's constructor is spelled with its parameters: Name<T>.
    return above + (cursor.spelling if "operator" in cursor.spelling else cursor.spelling.split("<")[0])


def is_virtual_class(cursor: Cursor) -> bool:
    """Whether objects of this class have a virtual table."""
    return any(child.is_virtual_method() if child.kind in FUNCTIONS else
               child.kind == CursorKind.CXX_BASE_SPECIFIER and child.get_definition() is not None
               and is_virtual_class(child.get_definition()) for child in cursor.get_children())


def has_static_local(function: Cursor) -> bool:
    """Whether the body has a static variable, which program and library would each have for themselves."""
    return any(child.kind == CursorKind.VAR_DECL and child.storage_class == StorageClass.STATIC
               for child in function.walk_preorder())


class Exports:
    """Collects from a translation unit: mangled names, names as they are read, and patterns, each by its header."""

    def __init__(self, root: Path, headers: list[str]):
        self.headers = {str(root / header): header for header in headers}
        self.mangled: dict[str, str] = {}
        self.plain: dict[str, str] = {}
        self.troubles: list[str] = []

    def add_all(self, unit: TranslationUnit) -> None:
        """Everything in namespace peal, and what peal adds to other namespaces (fmt::formatter, std::hash)."""
        for child in unit.cursor.get_children():
            self.add(child)

    def add(self, cursor: Cursor) -> None:
        if cursor.kind in (CursorKind.NAMESPACE, CursorKind.LINKAGE_SPEC):
            for child in cursor.get_children():
                self.add(child)
            return
        header = self.headers.get(cursor.location.file.name) if cursor.location.file else None
        if header is None:
            return
        if cursor.kind in TEMPLATES:
            self.add_template(cursor, header)
        elif cursor.kind in CLASSES:
            self.add_class(cursor, header)
        elif cursor.kind in FUNCTIONS:
            self.add_function(cursor, header)
        elif cursor.kind == CursorKind.VAR_DECL and cursor.storage_class != StorageClass.STATIC or (
                cursor.kind == CursorKind.VAR_DECL and cursor.semantic_parent.kind in CLASSES):
            self.mangled.setdefault(cursor.mangled_name, header)

    def add_template(self, cursor: Cursor, header: str) -> None:
        # A pattern cannot hold the `<` of the name: `?` stands for it. A function's name follows its return type.
        name = qualified(cursor)
        self.plain.setdefault(f"{name}?*" if cursor.kind == CursorKind.CLASS_TEMPLATE else f"*{name}?*", header)

    def add_class(self, cursor: Cursor, header: str) -> None:
        if not cursor.is_definition():
            return
        if is_virtual_class(cursor):
            for table in ("vtable", "typeinfo", "typeinfo name"):
                self.plain.setdefault(f'"{table} for {qualified(cursor)}"', header)
        for child in cursor.get_children():
            self.add(child)

    def add_function(self, cursor: Cursor, header: str) -> None:
        if cursor.is_default_method() or cursor.is_deleted_method() or cursor.is_pure_virtual_method():
            return
        definition = cursor.get_definition()
        if definition is None:
            self.mangled.setdefault(cursor.mangled_name, header)
        elif has_static_local(definition):
            self.troubles.append(f"{header}:{cursor.location.line}: {qualified(cursor)}() is inline and has a static "
                                 "variable: libpeal.so and the program would each have one")


def demangled(names: list[str]) -> list[str]:
    return subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                          check=True).stdout.splitlines()


def pattern_of(function: str) -> str:
    """A pattern for a function of any parameters, and of any version of fmt. Signs that no pattern may hold are `?`."""
    return re.sub(r"[^\w:*]", "?", VERSIONED.sub("fmt::v*::", function.split("(")[0])) + "?*"


def version_script(exports: Exports, version: str) -> str:
    """The text of the map, by headers."""
    lines = defaultdict(set)
    names = sorted(exports.mangled)
    for mangled, name in zip(names, demangled(names), strict=True):
        lines[exports.mangled[mangled]].add(pattern_of(name) if VERSIONED.search(name) else f'"{name}"')
    for pattern, header in exports.plain.items():
        lines[header].add(pattern)
    text = ["/* SPDX-License-Identifier: BSD-3-Clause",
            " * What libpeal.so exports, by the header that declares it. Written by tools/shared_exports.py. */",
            f"PEAL_{version} {{", '  global: extern "C++" {']
    for header in sorted(lines):
        text += [f"    /* {header} */", *(f"    {line};" for line in sorted(lines[header]))]
    return "\n".join([*text, "  };", "  local: *;", "};", ""])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("root", nargs="?", type=Path, default=REPOSITORY, help="the repository")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the list is not up to date")
    asked = parser.parse_args(arguments)
    root = asked.root.resolve()
    headers = headers_of_core(root)
    exports = Exports(root, headers)
    exports.add_all(parse(root, headers))
    for trouble in exports.troubles:
        print(trouble)
    text = version_script(exports, project_version(root).rpartition(".")[0])
    if not asked.check:
        (root / MAP).write_text(text, encoding="utf-8")
    elif not (root / MAP).is_file() or (root / MAP).read_text(encoding="utf-8") != text:
        print(f"{MAP} is not what the headers declare: run tools/shared_exports.py, and look at what it changes")
        return 1
    return 1 if exports.troubles else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
