# SPDX-License-Identifier: BSD-3-Clause
"""Rules about plain words and plain code: how long a sentence of a comment may be, how it may not begin, and tricks
that save a line and cost a reader a minute.

A rule is a generator over the tree of (path, line, rule, sentence).
"""
import re

# Folders whose comments meet these rules. A folder is added by the commit that finishes it.
PLAIN_ROOMS = ("cli", "examples", "fuzz", "load", "models", "peal", "starters", "tests", "versus")
SENTENCE_WORDS = 30

_COMMENT = re.compile(r"//[/!]?<? ?(.*)$")
_INTERNAL = re.compile(r"SPDX|NOLINT|clang-format|^(?:Quoted in docs|End of quote): \[")
_DRAWING = re.compile(r"\S {2,}\S|[─│┌┐└┘├┤▶◀▲▼]|[-=]{3,}|^\s*[|+^v<>]")
_ITEM = re.compile(r"\s*(?:[-*]|\d+[.)]) ")
_SENTENCE_END = re.compile(r"(?<![A-Z0-9]\.[a-z])(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)[.!?]['\")`]*(?= |$)|:$")
_RIDDLES = re.compile(r"(?:Of|Those|Behind|The same|Who)\b(?!')")
_HINTS = re.compile(r"(?:What|As|Not)\b")

_GOLF = [
    (re.compile(r"\breturn void\("), "`return void(...)`: call it, then return"),
    (re.compile(r"\bshared_ptr<void>(?: \w+)?\(\s*(?:nullptr\b|static_cast<void)|\{nullptr, \[.*\]\(void ?\*"),
     "a deleter that is a step of the program: run_when_released() of <peal/base/memory/when_released.h>"),
    (re.compile(r"\bdestroying_delete_t\b"), "a destroying delete: let a named function end the object"),
    (re.compile(r"\buse_count\(\)"), "use_count(): keep a count of one's own"),
]
_HOLDERS_OF_GOLF = {"peal/base/memory/when_released.h"}


class Comment:
    """One comment: the line it begins at, and its text as paragraphs of (line, words), drawings left out."""

    def __init__(self, line):
        self.line, self.rows = line, []

    def paragraphs(self):
        """Texts that a sentence cannot cross: a list item is one, a drawing or an empty line ends one."""
        started, gathered = self.line, []
        for number, text in self.rows:
            ends = not text.strip() or bool(_DRAWING.search(text)) or len(text) - len(text.lstrip()) > 3
            if (ends or _ITEM.match(text)) and gathered:
                yield started, " ".join(gathered)
                gathered = []
            if not ends:
                started = number if not gathered else started
                gathered.append(_ITEM.sub("", text).strip() if _ITEM.match(text) else text.strip())
        if gathered:
            yield started, " ".join(gathered)


def comments(file):
    """Every comment of a C++ file: neighbouring lines of comment are one, and so are a trailing one and what follows
    it in the same column."""
    found, open_comment, column, last = [], None, -1, -1
    for number, (line, code) in enumerate(zip(file.lines, file.uncommented.splitlines(), strict=False), 1):
        at = len(code.rstrip())
        match = _COMMENT.match(line[at:].lstrip()) if line[at:].strip() else None
        if not match or _INTERNAL.search(match[1]):
            open_comment = None
            continue
        start = len(line) - len(line[at:].lstrip())
        if not (open_comment and last == number - 1 and start == column and not code.strip()):
            open_comment, column = Comment(number), start
            found.append(open_comment)
        open_comment.rows.append((number, match[1]))
        last = number
    return found


def sentences(file):
    """Every sentence of a file's comments as (line of its paragraph, whether it opens its comment, text)."""
    for comment in comments(file):
        opens = True
        for line, text in comment.paragraphs():
            at = 0
            for match in [*_SENTENCE_END.finditer(text), None]:
                end = match.end() if match else len(text)
                if sentence := text[at:end].strip():
                    yield line, opens, sentence
                    opens = False
                at = end


def words_in(sentence):
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def _judged(tree):
    return [f for f in tree.files if f.is_c and f.path.startswith(tuple(room + "/" for room in PLAIN_ROOMS))]


def plain_words(tree):
    for file in _judged(tree):
        for line, opens, sentence in sentences(file):
            if (count := words_in(sentence)) > SENTENCE_WORDS:
                yield file.path, line, "long-sentence", f"{count} words, of {SENTENCE_WORDS}: {sentence[:60]}..."
            if opens and _RIDDLES.match(sentence):
                yield file.path, line, "riddle", f"a comment that opens without its subject: {sentence[:60]}"


def hints(tree):
    """Comments that open with a word that often hides the subject; a third of them are good sentences."""
    for file in _judged(tree):
        for line, opens, sentence in sentences(file):
            if opens and _HINTS.match(sentence):
                yield f"{file.path}:{line}: hint: is the subject there? {sentence[:60]}"


_BRACKET = re.compile(r"->|<<|>>|<=|>=|[<>] |[(\[<]|[)\]>]| \? |,|[=!]=|=")
_STATEMENT = re.compile(r"([^;{}]*)([;{}])")
_EXPRESSION = re.compile(r"(?:co_)?return \w|"
                         r"(?!k[A-Z])(?:\+\+|--|\*)?[\w:]+(?:\.|->|\[|\(|\+\+|--| [-+*/|&^]?= )")
_NOT_LONE = re.compile(r"(?:co_)?return\b|(?:co_yield|throw|case|default|using|static_assert|requires|else)\b|[^\w(*]")


def _outside_brackets(statement):
    """The signs `?`, `,` and `=` of a statement that stand outside all brackets; none if the brackets do not match."""
    depth, found = 0, set()
    for sign in _BRACKET.findall(statement):
        depth += (sign in {"(", "[", "<"}) - (sign in {")", "]", ">"})
        if depth < 0:
            return set()
        if depth == 0:
            found.add(sign.strip())
    return found if depth == 0 else set()


def _without_condition(text):
    """The statement that follows `if (...)`, `while (...)`, `for (...)` and `else`."""
    while match := re.match(r"else\b|(?:if|while|for)\b(?: constexpr)? ?(?=\()", text):
        text = text[match.end():]
        depth, end = 0, 0
        for end, sign in enumerate(text, 1):
            depth += (sign == "(") - (sign == ")")
            if depth <= 0:
                break
        text = (text[end:] if text.startswith("(") else text).strip()
    return re.sub(r"^(?:\[\[\w+\]\] )+", "", text)


def _statement_golf(text, end):
    text = _without_condition(text)
    signs = _outside_brackets(text) if end == ";" else set()
    if "?" in signs and "=" not in signs and not _NOT_LONE.match(text):
        return "a ternary as a statement: write if and else"
    if "," in signs and _EXPRESSION.match(text):
        return "a comma between two acts: write two statements"
    return None


def golf(tree):
    for file in _judged(tree):
        if file.path in _HOLDERS_OF_GOLF:
            continue
        for pattern, sentence in _GOLF:
            for match in pattern.finditer(file.code):
                if not (file.is_test and match[0].startswith("use_count")):
                    yield file.path, file.line_at(file.code, match.start()), "golf", sentence
        for match in _STATEMENT.finditer(file.code):
            if sentence := _statement_golf(" ".join(match[1].split()), match[2]):
                start = match.end(1) - len(match[1].lstrip())
                yield file.path, file.line_at(file.code, start), "golf", sentence


RULES = [plain_words, golf]
