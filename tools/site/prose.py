# SPDX-License-Identifier: BSD-3-Clause
"""Comments and C++ as HTML: names of the API are links, code has the colours of the site's other code."""
import html
import re

from comments import blocks
from names import relative

_KEYWORDS = set("""alignas auto class co_await co_return co_yield concept const consteval constexpr constinit decltype
    default delete enum explicit export extern false final for friend if inline mutable namespace new noexcept nullptr
    operator override private protected public requires return sizeof static static_assert struct switch template this
    throw true try catch typename union using virtual volatile while do else break continue case""".split())
_TYPES = set("bool char double float int long short signed size_t unsigned void wchar_t uint8_t uint16_t uint32_t "
             "uint64_t int8_t int16_t int32_t int64_t ssize_t char8_t".split())
_TOKEN = re.compile(r"""(?P<c1>//[^\n]*)
    | (?P<s>(?:"(?:[^"\\\n]|\\.)*")|(?:'(?:[^'\\\n]|\\.)+'))
    | (?P<cp>^[ ]*\#\w+)
    | (?P<mi>\b\d[\w']*(?:\.\d+)?)
    | (?P<name>(?:::)?\b[A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)*)""", re.VERBOSE | re.MULTILINE)
# The words of a comment that are code.
_WORD = re.compile(r"""`(?P<quoted>[^`]+)`
    | (?P<path>(?<![\w/.])(?:(?:peal|examples|docs|tests)/)?(?:[\w-]+/)*\w+\.(?:h|cc|md|proto)\b)
    | (?P<manual>\b[a-z_0-9]+\(\d[a-z]?\))
    | (?P<call>(?:::)?(?<![\w])~?[A-Za-z_]\w*(?:::~?\w+)*(?:<[\w:, <>.]*>)?
        \((?:[^()\s][^()]{0,60})?\)(?:\.\w+\([^()]*\))*)
    | (?P<scoped>(?:::)?\b[A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)+)
    | (?P<name>\b(?:k[A-Z]\w*|[A-Za-z]+_\w+|[A-Z][a-z0-9]+(?:[A-Z]\w*)?|E[A-Z0-9]{3,}|[A-Z_]{2,}_\w+)\b)""", re.VERBOSE)


class Prose:
    """Writes the text of one page. `scope` is the class whose members need no qualification; `near` has other types
    of its header, whose members are meant next."""

    def __init__(self, names, page, scope="", near=()):
        self._names, self._page, self._scope, self.top, self._near = names, page, scope, scope, near

    def _link(self, place, inside):
        if not place or place == self._page:
            return inside
        return f'<a href="{relative(self._page, place)}">{inside}</a>'

    def code(self, text, own="", scope=None):
        """C++ as HTML without a frame. `own` is the name that is declared."""
        scope = self._scope if scope is None else scope
        out, at = [], 0
        for match in _TOKEN.finditer(text):
            out.append(html.escape(text[at:match.start()], quote=False))
            word, kind = html.escape(match[0], quote=False), match.lastgroup
            if kind != "name":
                out.append(f'<span class="{kind}">{word}</span>')
            elif match[0] == own:
                out.append(f'<span class="nf">{word}</span>')
            elif match[0] in _KEYWORDS or match[0] in _TYPES:
                out.append(f'<span class="{"k" if match[0] in _KEYWORDS else "kt"}">{word}</span>')
            else:
                place = self._names.place(match[0], scope) if _is_reference(text, match) else None
                out.append(self._link(place, f'<span class="n">{word}</span>'))
            at = match.end()
        out.append(html.escape(text[at:], quote=False))
        return "".join(out)

    def framed(self, text, own="", scope=None):
        """C++ in a block."""
        return f'<div class="highlight"><pre><code>{self.code(text, own, scope)}</code></pre></div>'

    def _place_of(self, word):
        bare = re.sub(r"\(.*$", "", re.sub(r"<.*$", "", word)).lstrip("*&~")
        scopes = [self._scope, *(near for near in self._near if "::" not in bare)]
        place = next(filter(None, (self._names.place(bare, scope) for scope in scopes)), None)
        if not place and ("_" in bare or re.match(r"k[A-Z]", bare)):
            place = self._names.place_of_member(bare)
        return place

    def _word(self, match):
        kind, word = match.lastgroup, match[0].strip("`")
        shown = f"<code>{html.escape(word, quote=False)}</code>"
        if kind == "path":
            return self._link(self._names.place_of_header(word), shown)
        if kind == "manual":
            return html.escape(word)
        place = self._place_of(word)
        if kind == "name" and not place and not re.search(r"_|^k[A-Z]|^E[A-Z0-9]+$", word):
            return html.escape(word, quote=False)  # a word that begins with a capital letter
        if kind == "name" and place and "#" in place and not re.search(r"[_A-Z].*[A-Z]|_|^k[A-Z]", word) and \
                self._names.place(word) is None:
            return html.escape(word, quote=False)
        return self._link(place, shown)

    def text(self, text):
        """A sentence or several, without a frame."""
        out, at = [], 0
        for match in _WORD.finditer(text):
            out += [html.escape(text[at:match.start()], quote=False), self._word(match)]
            at = match.end()
        return "".join([*out, html.escape(text[at:], quote=False)])

    def comment(self, lines):
        """The text of a comment as paragraphs, lists and code."""
        return "\n".join(self._block(block) for block in blocks(lines))

    def _block(self, block):
        if block.kind == "text":
            return f"<p>{self.text(block.text)}</p>"
        if block.kind == "code":
            return self.framed(block.text)
        if block.kind == "drawing":
            return f'<div class="highlight"><pre><code>{html.escape(block.text, quote=False)}</code></pre></div>'
        tag = "ol" if block.kind == "steps" else "ul"
        items = "".join(f"<li>{self._item(item)}</li>" for item in block.items)
        return f"<{tag}>{items}</{tag}>"

    def _item(self, parts):
        if parts and parts[0].kind == "text":
            return self.text(parts[0].text) + "".join(self._block(part) for part in parts[1:])
        return "".join(self._block(part) for part in parts)


def _is_reference(text, match):
    """Whether a name in code can mean something of the API: a type, a constant, or a function that is called. Others
    are variables of the code itself."""
    if text[:match.start()].endswith((".", "->")):
        return False
    return bool(re.search(r"::|^[A-Z]|^k[A-Z]", match[0])) or text[match.end():match.end() + 1] == "("


def first_sentence(lines, name=""):
    """The first sentence of a comment, without the name that it opens with."""
    first = next((block.text for block in blocks(lines) if block.kind == "text"), "")
    sentence = re.split(r"(?<=[.!?:])\s+(?=[A-Z`])", first, maxsplit=1)[0].rstrip(":")
    return re.sub(rf"^{re.escape(name)}(?:<\w+>)?(?:\(\))?: (\w)", lambda match: match[1].upper(), sentence)
