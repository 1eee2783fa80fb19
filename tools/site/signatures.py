# SPDX-License-Identifier: BSD-3-Clause
"""How a declaration is written: cut out of the header without its body, and laid out anew for a page.

A page is narrower than a header, so clang-format lays all signatures out again, in one run.
"""
import re
import subprocess

from declarations import every

COLUMNS = 78
_STYLE = (f"{{BasedOnStyle: Google, ColumnLimit: {COLUMNS}, DerivePointerAlignment: false, SortIncludes: Never, "
          "RequiresClausePosition: OwnLine, AllowShortFunctionsOnASingleLine: None, ReflowComments: false, "
          "PenaltyReturnTypeOnItsOwnLine: 10000}")
_OPENING, _CLOSING = "([{<", ")]}>"
_MARK = "//@@ "


def _depths(text):
    """Each letter with the depth of brackets before it. An arrow or a comparison is no bracket."""
    depth = 0
    for at, letter in enumerate(text):
        if letter in _CLOSING and not (letter == ">" and at and text[at - 1] in "-="):
            depth -= 1
        yield at, letter, depth
        if letter in _OPENING and not (letter == "<" and text[at:at + 2] in ("<<", "<=")):
            depth += 1


def squeezed(text):
    """On one line, without comments."""
    return re.sub(r"\s+", " ", re.sub(r"//[^\n]*", "", text)).strip()


def of_plain(text):
    return squeezed(text).rstrip(";").rstrip()


def of_enum(text):
    return of_plain(text.split("{")[0])


def of_function(text, is_constructor):
    """A function's declaration; `text` ends before the body. A constructor loses its initializers."""
    text = of_plain(text)
    if is_constructor:
        for at, letter, depth in _depths(text):
            if letter == ":" and depth == 0 and text[at - 1] != ":" and text[at + 1:at + 2] != ":":
                text = text[:at]
                break
    return re.sub(r"^(?:inline|friend) ", "", text.rstrip(" {"))


def of_variable(text, name, spelled_type):
    """(type, default) of a field or a variable, as written."""
    text = of_plain(text)
    at = next((at for at, letter, depth in _depths(text) if depth == 0 and (
        letter == "=" or letter == "{" and text[:at].rstrip().endswith(name))), len(text))
    head, rest = text[:at].rstrip(), text[at:]
    head = re.sub(r"(?<!:):(?!:) *\d+$", "", head).rstrip()  # a bit-field
    array = re.search(r"(?:\[[^\]]*\])*$", head)[0]
    head = head[:len(head) - len(array)]
    default = rest[1:].strip() if rest.startswith("=") else rest
    if not re.search(rf"\b{re.escape(name)}$", head):  # one of several in a declaration
        match = re.search(rf"\b{re.escape(name)}\b\s*(=?)\s*(.*)$", text)
        return spelled_type, match[2] if match else ""
    kind = head[:-len(name)].strip() + array
    if any(letter == "," and depth == 0 for _, letter, depth in _depths(kind)):
        kind = spelled_type
    return kind, default


def is_special(signature, name):
    """Whether a member function of the class `name` copies, moves or destroys, as far as one can see."""
    own = rf"{re.escape(name)}(?:<[^>]*>)?"
    parameter = rf"\((?:const )?{own} ?&&?(?: \w+)?\)"
    return bool(name) and bool(re.match(rf"(?:constexpr |virtual )*(?:{own}{parameter}|{own} ?& operator={parameter}"
                                        rf"|~{re.escape(name)}\(\))", signature))


def of_class(text, kind):
    """(head, public bases) of a class: as written, without what is private or internal."""
    head = squeezed(text)
    for at, letter, depth in _depths(head):
        if letter == "{" and depth == 0:
            head = head[:at].rstrip()
            break
    colon = next((at for at, letter, depth in _depths(head) if letter == ":" and depth == 0 and
                  ":" not in (head[at - 1], head[at + 1:at + 2])), None)
    if colon is None:
        return head, []
    bases, start, listed = [], colon + 1, head + ","
    for at, letter, depth in _depths(listed):
        if letter == "," and depth == 0 and at > colon:
            bases.append(listed[start:at].strip())
            start = at + 1
    public = [re.sub(r"^(?:public|virtual) ", "", base) for base in bases
              if base.startswith("public ") or (kind == "struct" and not re.match(r"private|protected", base))]
    public = [base for base in public if "detail::" not in base]
    head = head[:colon].rstrip()
    return (f"{head} : " + ", ".join(f"public {base}" for base in public) if public else head), public


def lay_out(declarations):
    """Breaks the signatures of all declarations and their members into lines of a page."""
    found = [one for one in every(declarations) if one.kind in ("function", "alias", "concept", "variable", "enum")
             or one.is_class]
    pieces = []
    for number, one in enumerate(found):
        piece = one.signature + (" {}" if one.is_class or one.kind == "enum" else "")
        pieces.append(f"{_MARK}{number}\n{piece};\n")
    text = "struct Everything {\n" + "".join(pieces) + "};\n"
    done = subprocess.run(["clang-format-19", f"--style={_STYLE}", "--assume-filename=all.cc"], input=text.encode(),
                          capture_output=True, check=True).stdout.decode()
    parts = re.split(rf"^ *{_MARK}(\d+)\n", done.rsplit("};", 1)[0], flags=re.MULTILINE)[1:]
    for number, piece in zip(parts[::2], parts[1::2], strict=True):
        lines = [line.removeprefix("  ") for line in piece.rstrip().splitlines()]
        one = found[int(number)]
        signature = "\n".join(lines).rstrip(";").rstrip()
        one.signature = re.sub(r"\s*\{\s*\}$", "", signature) if one.is_class or one.kind == "enum" else signature
