# SPDX-License-Identifier: BSD-3-Clause
"""Reads the public headers with libclang, as one unit, and returns what they declare.

libclang knows the declarations. It does not read `//` comments, so comments.py does. A header that does not compile is
an error: the reference must not lack half of it.
"""
import re
import sys
from pathlib import Path

from clang import cindex

import signatures
from comments import Comments
from declarations import Declaration, Header, share_comments

# From here on, every module of the site finds the modules of tools/.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from public_headers import parse  # noqa: E402

_KIND = cindex.CursorKind
_CLASSES = {_KIND.CLASS_DECL: "class", _KIND.STRUCT_DECL: "struct", _KIND.UNION_DECL: "union",
            _KIND.CLASS_TEMPLATE: "class"}
_FUNCTIONS = {_KIND.FUNCTION_DECL, _KIND.CXX_METHOD, _KIND.CONSTRUCTOR, _KIND.DESTRUCTOR, _KIND.CONVERSION_FUNCTION,
              _KIND.FUNCTION_TEMPLATE}
_ALIASES = {_KIND.TYPE_ALIAS_DECL, _KIND.TYPEDEF_DECL, _KIND.TYPE_ALIAS_TEMPLATE_DECL}
_SCOPES = {_KIND.NAMESPACE, _KIND.LINKAGE_SPEC, _KIND.UNEXPOSED_DECL}
_ACCESS = {cindex.AccessSpecifier.PROTECTED: "protected", cindex.AccessSpecifier.PRIVATE: "private"}
_MACRO = re.compile(r"^#define (PEAL_\w+)(\([^)]*\))?")


def read(root, paths):
    """Parses the headers and returns a Header for each path, in order."""
    parsed = parse(Path(root), paths)
    readers = {str(Path(root) / path): _Reader(root, path) for path in paths}
    for cursor in _top_level(parsed.cursor):
        reader = readers.get(cursor.location.file.name) if cursor.location.file else None
        if reader:
            reader.take(cursor)
    headers = [reader.header() for reader in readers.values()]
    signatures.lay_out([one for header in headers for one in header.declarations])
    return headers


def _top_level(cursor):
    """Every declaration at namespace level of peal, outside of internal namespaces."""
    for child in cursor.get_children():
        if child.kind == _KIND.NAMESPACE and (child.spelling != "peal" if cursor.kind == _KIND.TRANSLATION_UNIT
                                              else child.spelling in ("detail", "")):
            continue
        if child.kind in _SCOPES:
            yield from _top_level(child)
        elif cursor.kind != _KIND.TRANSLATION_UNIT:
            yield child


class _Reader:
    """Makes declarations of the cursors of one header."""

    def __init__(self, root, path):
        self._path = path
        self._source = (Path(root) / path).read_bytes()
        self._text = self._source.decode()
        self._comments = Comments(self._text)
        self._found = []

    def take(self, cursor):
        if (one := self._declaration(cursor, "")) and not _is_internal(one):
            self._found.append(one)

    def header(self):
        lines = self._text.splitlines()
        for number, line in enumerate(lines, 1):
            if match := _MACRO.match(line):
                comment = self._comments.above(number)
                text = match[1] + (match[2] or "")
                self._found.append(Declaration("macro", match[1], signature=f"#define {text}", line=number,
                                               last_line=self._end_of_macro(lines, number), comment=comment))
        self._found.sort(key=lambda one: one.line)
        share_comments(self._found, self._adjacent)
        for one in self._found:
            one.header = self._path
        return Header(self._path, self._comments.essay(), self._found)

    @staticmethod
    def _end_of_macro(lines, number):
        while lines[number - 1].endswith("\\"):
            number += 1
        return number

    def _adjacent(self, before, after):
        """Whether nothing stands between two declarations, no comment and no empty line."""
        return after.line <= before.last_line + 1

    def _declaration(self, cursor, scope):
        if cursor.kind in _CLASSES or cursor.kind == _KIND.CLASS_TEMPLATE:
            return self._class(cursor, scope)
        if cursor.canonical != cursor or not cursor.spelling or cursor.semantic_parent != cursor.lexical_parent:
            return None  # declared before, or a member that is defined outside of its class
        if cursor.kind in _FUNCTIONS:
            return self._function(cursor, scope)
        if cursor.kind == _KIND.ENUM_DECL:
            one = self._made("enum", cursor, scope)
            one.signature = signatures.of_enum(self._code(cursor))
            one.members = [self._enumerator(child, one) for child in cursor.get_children()
                           if child.kind == _KIND.ENUM_CONSTANT_DECL]
            return one
        if cursor.kind in (_KIND.FIELD_DECL, _KIND.VAR_DECL):
            return self._variable(cursor, scope)
        if cursor.kind in _ALIASES:
            return self._made("alias", cursor, scope, signatures.of_plain(self._code(cursor)))
        if cursor.kind == _KIND.CONCEPT_DECL:
            return self._made("concept", cursor, scope, signatures.of_plain(self._code(cursor)))
        return None

    def _code(self, cursor):
        """The text of a declaration, with the attributes before it, up to its end."""
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        before = self._source[:start].decode().rstrip()
        if before.endswith("]]"):
            start = len(before[:before.rindex("[[")].encode())
        return self._source[start:end].decode()

    def _rest_of_line(self, cursor):
        end = cursor.extent.end.offset
        return self._source[end:].decode().split(";", 1)[0]

    def _first_line(self, cursor):
        """The line that the declaration begins at: attributes may stand on the line before."""
        line = cursor.extent.start.line
        while line > 1 and (code := self._comments.code(line - 1)) and code.lstrip().startswith("[[") and \
                code.endswith("]]"):
            line -= 1
        return line

    def _made(self, kind, cursor, scope, signature=""):
        first, last = self._first_line(cursor), cursor.extent.end.line
        comment = self._comments.above(first) or (self._comments.behind(last) if kind != "class" else [])
        return Declaration(kind, cursor.spelling, scope, signature, first, last, comment,
                           _ACCESS.get(cursor.access_specifier, "public"))

    def _enumerator(self, cursor, enum):
        one = self._made("enumerator", cursor, enum.qualified, self._code(cursor))
        if one.line == enum.line:
            one.comment = []
        one.default = self._code(cursor).partition("=")[2].strip()
        return one

    def _function(self, cursor, scope):
        code, rest = self._code(cursor), self._rest_of_line(cursor)
        body = next((child.extent.start.offset for child in cursor.get_children()
                     if child.kind == _KIND.COMPOUND_STMT and self._source[child.extent.start.offset:][:1] == b"{"),
                    None)  # a defaulted function may have a body that nobody wrote
        if body is not None:
            code, rest = code.removesuffix(self._source[body:cursor.extent.end.offset].decode()), ""
        is_constructor = cursor.kind == _KIND.CONSTRUCTOR or (
            scope and cursor.spelling.split("<")[0] == scope.split("::")[-1])
        name = cursor.spelling.split("<")[0] if is_constructor else cursor.spelling
        ending = re.match(r"\s*(=\s*(?:default|delete|0))", rest)
        if ending and ending[1].split()[-1] not in code.split("=")[-1]:
            code += " " + ending[1]
        one = self._made("function", cursor, scope, signatures.of_function(code, is_constructor))
        one.name, one.type = name, cursor.result_type.spelling
        if "type-parameter" in name and (match := re.search(r"operator ([^()]+)\(\)", one.signature)):
            one.name = f"operator {match[1]}"  # a conversion to a parameter of a template
        one.special = signatures.is_special(one.signature, scope.rpartition("::")[2])
        one.folded = not one.comment and (one.special or bool(re.search(r"=\s*(?:default|delete)\s*$", code)))
        one.template = cursor.kind == _KIND.FUNCTION_TEMPLATE
        one.awaited = _awaited(cursor.result_type)
        return one

    def _variable(self, cursor, scope):
        is_field = cursor.kind == _KIND.FIELD_DECL or bool(scope)
        one = self._made("field" if is_field else "variable", cursor, scope)
        code = self._code(cursor)
        one.type, one.default = signatures.of_variable(code, cursor.spelling, cursor.type.spelling)
        one.signature = f"{one.type} {one.name}" + (f" = {one.default}" if one.default else "")
        if re.match(r"static\b|constexpr\b|inline\b", code):
            one.kind = "variable"
        return one

    def _class(self, cursor, scope):
        if not cursor.is_definition() or not cursor.spelling or cursor.semantic_parent != cursor.lexical_parent:
            return None
        if cindex.conf.lib.clang_getSpecializedCursorTemplate(cursor):
            return None
        code = self._code(cursor)
        kind = re.search(r"\b(class|struct|union)\b(?![^<]*>\s*(?:class|struct|requires))", code.split("{")[0])
        one = self._made(kind[1] if kind else "class", cursor, scope)
        one.name = cursor.spelling
        one.signature, one.bases = signatures.of_class(code, one.kind)
        one.template = cursor.kind == _KIND.CLASS_TEMPLATE
        for child in cursor.get_children():
            if child.kind == _KIND.CXX_BASE_SPECIFIER:
                if child.access_specifier == cindex.AccessSpecifier.PUBLIC:
                    one.members += self._inherited(child, one)
                continue
            if child.access_specifier == cindex.AccessSpecifier.PRIVATE or child.extent.start.file is None:
                continue
            if (member := self._declaration(child, one.qualified)) and not _is_internal(member):
                one.members.append(member)
        self._head_sections(one)
        share_comments(one.members, self._adjacent)
        return one

    def _inherited(self, base, one):
        """What a public class has of an internal base: its public functions with a comment."""
        definition = base.type.get_declaration().get_definition() or base.referenced
        if cindex.conf.lib.clang_getSpecializedCursorTemplate(definition):
            definition = cindex.conf.lib.clang_getSpecializedCursorTemplate(definition)
        parent = definition.semantic_parent if definition else None
        if parent is None or parent.spelling != "detail" or not definition.location.file:
            return []
        reader = _Reader("", definition.location.file.name)
        found = []
        for child in definition.get_children():
            if child.kind in _FUNCTIONS and child.kind not in (_KIND.CONSTRUCTOR, _KIND.DESTRUCTOR) and \
                    child.access_specifier == cindex.AccessSpecifier.PUBLIC and not child.is_virtual_method():
                member = reader._function(child, one.qualified)
                if member.comment and not member.name.startswith("await_"):
                    member.line = member.last_line = 0
                    found.append(member)
        return found

    def _head_sections(self, one):
        """Gives the members the headings that stand between them in the header."""
        headings = self._comments.sections(one.line, one.last_line)
        for member in one.members:
            above = [text for line, text in headings if 0 < line < member.line]
            member.section = above[-1] if above else ""
            if member.comment and member.comment[0].startswith("---"):
                member.comment = []


def _is_internal(one):
    """Whether only the library can use it: it takes something internal, or is internal and nothing is said about it."""
    if one.kind not in ("function", "alias", "variable", "field") or "detail::" not in one.signature:
        return False
    if one.kind == "function":
        behind_name = one.signature[one.signature.find(one.name):]
        return "detail::" in behind_name or not (one.comment or one.awaited)
    return not one.comment


def _awaited(result):
    """What `co_await` gives of a result whose type is internal, as `Result<Buffer>`; empty if it is not known."""
    declared = result.get_declaration()
    if not declared or declared.kind == _KIND.NO_DECL_FOUND or not declared.semantic_parent or \
            declared.semantic_parent.spelling != "detail":
        return ""
    return _resumed(declared.get_definition() or declared, 0)


def _resumed(definition, depth):
    for child in definition.get_children():
        if child.spelling == "await_resume":
            spelled = child.result_type.spelling
            return "" if "type-parameter" in spelled or spelled in ("auto", "T", "Answer") else spelled
    for child in definition.get_children():
        if child.kind == _KIND.CXX_BASE_SPECIFIER and depth < 4:
            base = child.type.get_declaration()
            primary = cindex.conf.lib.clang_getSpecializedCursorTemplate(base) if base else None
            if found := _resumed(primary or base.get_definition() or base, depth + 1):
                return found
    return ""
