# SPDX-License-Identifier: BSD-3-Clause
"""Where functions begin and end, in C++, C, Python and shell, without a compiler.

Each finder yields (first line, last line, name) of outermost functions only: lambdas, local classes and nested
functions are part of the one that holds them, and so are signatures, template lines and decorators.
"""
import ast
import re

_SCOPE = re.compile(r'^(?:inline\s+)?namespace\b|^extern\s*"[^"]*"$')
_CALL = r"\s*\((?:[^()]|\([^()]*\))*\)"
_DECORATION = re.compile(rf"\[\[.*?\]\]|\balignas{_CALL}|\bPEAL_[A-Z_]+{_CALL}", re.DOTALL)
_TEMPLATE = re.compile(r"^template\s*<")
_TYPE = re.compile(r"^(?:(?:typedef|static|inline|constexpr|constinit|const)\s+)*(?:class|struct|union|enum)\b")
_ACCESS = re.compile(r"\s*(?:public|private|protected)\s*:(?!:)")


_BRACE = re.compile(r"[{}]")
_DELIMITER = re.compile(r"[{};]")
_GOES_ON = re.compile(r"\s*[,{]")
_PARAMETER_NAME = re.compile(r"^(.*[\w>\]] |.*[&*] ?)(?!(?:int|char|long|unsigned|double|float|bool|const)$)\w+$")


def _line_at(text, offset):
    return text.count("\n", 0, offset) + 1


def _without_template(head):
    """Drops leading `template <...>` parts, whose brackets may nest."""
    while _TEMPLATE.match(head):
        depth = 0
        for position, letter in enumerate(head):
            depth += {"<": 1, ">": -1}.get(letter, 0)
            if letter == ">" and depth == 0:
                break
        head = head[position + 1:].lstrip()
    return head


def _opens(head):
    """What a brace after `head`, at namespace or class level, opens: 'scope', 'function' or 'value'."""
    plain = _without_template(_DECORATION.sub(" ", head).strip())
    if plain.endswith("=") or (plain.count("(") > plain.count(")") and "[" not in plain):
        return "value"
    if not plain or _SCOPE.match(plain) or (_TYPE.match(plain) and "(" not in plain):
        return "scope"
    return "function" if "(" in plain or plain.endswith("]") else "value"


def matching_brace(code, start):
    depth = 0
    for match in _BRACE.finditer(code, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


def head_of(function):
    """The part of a function's text before its body."""
    return function.split("{")[0]


def parameter_types(head):
    """The types of a function's parameters, in one line: what tells it from an overload."""
    plain = _without_template(_DECORATION.sub(" ", head).strip())
    depth, parameters = 0, [""]
    for letter in plain[plain.find("("):]:
        depth += {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}.get(letter, 0)
        if depth == 0:
            break
        if letter == "," and depth == 1:
            parameters.append("")
        else:
            parameters[-1] += letter
    texts = [" ".join(parameter.removeprefix("(").split("=")[0].split()) for parameter in parameters]
    return ", ".join(_PARAMETER_NAME.sub(r"\1", text).strip() for text in texts)


def _name_of(head):
    before = _without_template(_DECORATION.sub(" ", head).strip()).split("(")[0].strip()
    return before.split()[-1] if before else "function"


def c_functions(code):
    """Outermost functions of C or C++ whose comments, strings and directives are blanked.

    Braces of namespaces, classes and extern "C" are entered; a constructor's braced initialisers belong to its head.
    """
    position = head_start = 0
    while match := _DELIMITER.search(code, position):
        at = match.start()
        position = at + 1
        access = _ACCESS.match(code, head_start)
        while access:
            head_start = access.end()
            access = _ACCESS.match(code, head_start)
        head = code[head_start:at]
        if match[0] != "{" or (kind := _opens(head)) == "scope":
            head_start = position
            continue
        end = matching_brace(code, at)
        position = end + 1
        if _GOES_ON.match(code, position):
            continue  # what the braces held was an initialiser
        if kind == "function":
            first = head_start + len(head) - len(head.lstrip())
            yield _line_at(code, first), _line_at(code, end), _name_of(head)
        head_start = position


def python_functions(text):
    found = []

    def visit(node):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([child.lineno] + [decorator.lineno for decorator in child.decorator_list])
                found.append((first, child.end_lineno, child.name))
            else:
                visit(child)

    try:
        visit(ast.parse(text))
    except SyntaxError:
        return []
    return found


def shell_functions(lines):
    start = None
    for number, line in enumerate(lines, 1):
        if match := re.match(r"(?:function\s+)?(\w+)\s*\(\)\s*\{", line):
            start, name = number, match[1]
        if line == "}" and start:
            yield start, number, name
            start = None
