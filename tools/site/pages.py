# SPDX-License-Identifier: BSD-3-Clause
"""The pages of the reference: one for each class, and one for each header that declares something else.

A page is Markdown with headings, so that the site's search and table of contents see its parts. All else is HTML.
"""
import html
import re

from declarations import AWAITABLE
from names import HOME, anchor_in, anchor_of, has_page, page_of, page_of_header, relative
from prose import Prose, first_sentence

TARGETS = {"tls": "peal::tls", "sim": "peal::sim", "protobuf": "peal::protobuf"}


def _enums(header):
    return [one.name for one in header.declarations if one.kind == "enum"]


def _escaped(text):
    return html.escape(text, quote=False)


class Writer:
    """Writes the pages of one version of the headers."""

    def __init__(self, names, version):
        self._names, self._version = names, version

    def class_page(self, header, one):
        """(path, Markdown) of the page of a class."""
        page = page_of(header, one)
        prose = Prose(self._names, page, one.qualified, _enums(header))
        is_main = one is header.main()
        title = one.name
        comment = [*(header.essay if is_main else []), *([""] if is_main and one.comment else []), *one.comment]
        parts = [f"# {title}", self._facts(header, page, prose.code(one.signature, one.name))]
        if comment:
            parts.append(self._doc(prose.comment(comment)))
        if not is_main and header.essay:
            parts.append(self._about_header(header, page))
        parts += self._members(prose, one, 2)
        parts.append(self._neighbours(header, page, one))
        return page, self._finished(parts, title, first_sentence(comment, one.name))

    def header_page(self, header):
        """(path, Markdown) of the page of what a header declares besides classes."""
        page = page_of_header(header)
        classes = [one.name for one in header.declarations if one.is_class]
        prose = Prose(self._names, page, "", [*_enums(header), *classes])
        parts = [f"# {header.name}", self._facts(header, page)]
        main = header.main()
        if header.essay and main is None:
            parts.append(self._doc(prose.comment(header.essay)))
        elif main is not None:
            parts.append(self._doc(f'<p>The introduction is on the page of <a href="'
                                   f'{relative(page, page_of(header, main))}"><code>{main.name}</code></a>.</p>'))
        for group in _entries([one for one in header.declarations if not one.is_class]):
            parts += self._entry(prose, group, 2)
        parts.append(self._neighbours(header, page, None))
        return page, self._finished(parts, header.path, first_sentence(header.essay))

    @staticmethod
    def _finished(parts, title, description):
        description = description.replace('"', "'").replace("\\", "")
        head = f'---\ntitle: "{title}"\ndescription: "{description}"\n---\n'
        return head + "\n" + "\n\n".join(part for part in parts if part) + "\n"

    @staticmethod
    def _doc(inside):
        return f'<div class="doc">\n{inside}\n</div>'

    def _facts(self, header, page, head=""):
        target = TARGETS.get(header.floor, "peal::peal")
        include = f'<span class="cp">#include</span> <span class="s">&lt;{header.path}&gt;</span>'
        head = f"\n\n{head}" if head else ""
        room = relative(page, f"{HOME}/{header.floor}/index.html")
        return (f'<div class="facts"><div class="highlight"><pre><code>{include}{head}</code></pre></div>\n'
                f'<p>CMake target <code>{target}</code> · folder '
                f'<a href="{room}"><code>peal/{header.floor}/</code></a> · '
                f"peal {self._version}</p></div>")

    def _about_header(self, header, page):
        main = header.main()
        place = page_of(header, main) if main else page_of_header(header)
        name = main.name if main else header.path
        return self._doc(f'<p>More about it: <a href="{relative(page, place)}"><code>{name}</code></a>.</p>')

    def _neighbours(self, header, page, own):
        """What else the header declares."""
        links = [(one.name, page_of(header, one)) for one in header.declarations if one.is_class and one is not own]
        if own is not None:
            links += [(name, f"{page_of_header(header)}#{anchor_of(name)}") for name in
                      dict.fromkeys(one.name for one in header.declarations if not one.is_class)]
        if not links:
            return ""
        items = ", ".join(f'<a href="{relative(page, place)}"><code>{_escaped(name)}</code></a>'
                          for name, place in links)
        return f"## Also in this header {{ #also-in-this-header }}\n\n<p>{items}</p>"

    # ---- The members of a class.

    def _members(self, prose, one, level):
        """The parts of a page that describe the members, at this level of headings."""
        members = [m for m in one.members if not m.folded and m.name not in AWAITABLE and m.access != "private"]
        fields = [m for m in members if m.kind == "field"]
        parts = []
        if fields:
            parts += [f"{'#' * level} {self._name_of_fields(one)} {{ #fields-of-{one.name} }}" if level < 4 else "",
                      self._fields(prose, fields)]
        section, plain = None, "Members" if fields or one.is_class else ""
        for group in _entries([m for m in members if m.kind != "field"]):
            heading = "Protected" if group[0].access == "protected" else group[0].section or plain
            if heading != section:
                section = heading
                parts += self._section(prose, one, heading, level)
            parts += self._entry(prose, group, level + 1)
        facts = _special_facts(one)
        if awaited := next((m for m in one.members if m.name == "await_resume"), None):
            result = f"<code>{prose.code(awaited.type)}</code>"
            facts.append("It can be awaited" if "type-parameter" in awaited.type else
                         f"It can be awaited: <code>co_await</code> gives {result}")
        for base in one.bases:
            if "<a " in (linked := prose.code(base)):
                facts.append(f"It also has the members of <code>{linked}</code>")
        if facts:
            parts.append(f'<p class="folded">{". ".join(facts)}.</p>')
        return parts

    def _section(self, prose, one, heading, level):
        """The heading over a group of members: its first sentence is the title, the rest a text below."""
        title, _, rest = heading.partition(". ")
        title = re.sub(r" \([^)]*\.cc\)", "", title).rstrip(".")
        return [f"{'#' * level} {title} {{ #{anchor_of(one.name)}-{_slug(title)} }}",
                self._doc(prose.comment([rest])) if rest else ""]

    @staticmethod
    def _name_of_fields(one):
        for ending, name in (("Options", "Options"), ("Limits", "Limits"), ("Stats", "Counters"), ("Callbacks",
                             "Callbacks")):
            if one.name.endswith(ending):
                return name
        return "Fields"

    def _fields(self, prose, fields):
        """A table of fields: a row with name, type and default, and below it what the field does. Fields that share a
        comment stand above it together."""
        has_default = any(one.default for one in fields)
        columns = 3 if has_default else 2
        rows, at, group = [], 0, []
        while at < len(fields):
            group, end = fields[at].comment or group, at + 1
            while end < len(fields) and fields[end].shares:
                end += 1
            for one in fields[at:end]:
                default = f'<code>{prose.code(one.default)}</code>' if one.default else ""
                cell = f'<td class="default">{default}</td>' if has_default else ""
                rows.append(f'<tr class="field"><td id="{anchor_in(one, prose.top)}"><code>{one.name}</code></td>'
                            f"<td><code>{prose.code(one.type)}</code></td>{cell}</tr>")
            if told := prose.comment(fields[at].comment) or self._by_type(prose, fields[at], group):
                rows.append(f'<tr class="told"><td colspan="{columns}">{told}</td></tr>')
            at = end
        head = "".join(f"<th>{text}</th>" for text in ("Name", "Type", "Default")[:columns])
        return f'<table class="fields"><thead><tr>{head}</tr></thead>\n<tbody>' + "\n".join(rows) + "</tbody></table>"

    def _by_type(self, prose, one, group):
        """Where one reads what an option without a comment is: at the option whose default it has, at the option of
        the same name of a class that the comment of its group names, or at its type."""
        places = [match[1] for match in [re.match(r"(\w+)(?:\{\}|\(\))\.", one.default)] if match]
        places += re.findall(r"\b[A-Z]\w+", " ".join(group))
        for word in places:
            if self._names.place(f"{word}::{one.name}") and word != prose.top:
                return f"<p>See {prose.text(f'{word}::{one.name}')}.</p>"
        types = [word for word in re.findall(r"\w+", one.type) if self._names.place(word, prose.top)]
        if not types or self._names.is_alias(types[0]):
            return ""
        return f"<p>See {prose.text(f'`{types[0]}`')}.</p>"

    # ---- Entries.

    def _entry(self, prose, group, level):
        """One entry: declarations of one name, or of several names that share a comment."""
        names = list(dict.fromkeys(one.name for one in group))
        shown = ", ".join(f"`{_heading_of(one)}`" for one in {one.name: one for one in group}.values())
        parts = [f"{'#' * level} {shown} {{ #{anchor_in(group[0], prose.top)} }}"]
        others = {one.name: one for one in group if one.name != names[0]}.values()
        body = "".join(f'<a id="{anchor_in(one, prose.top)}"></a>' for one in others)
        scope = group[0].qualified if group[0].is_class else None
        for one_comment in _by_comment(group):
            text = "\n".join(one.signature + _rest_of_enum(one) for one in one_comment)
            own = one_comment[0].name
            body += prose.framed(text, own, scope)
            body += prose.comment(one_comment[0].comment)
            if gives := next((one.awaited for one in one_comment if one.awaited), ""):
                body += f"<p><code>co_await</code> gives <code>{prose.code(gives)}</code>.</p>"
        parts.append(self._doc(body))
        one = group[0]
        if one.kind == "enum":
            parts.append(self._enumerators(prose, one))
        elif one.is_class:
            parts += self._nested(prose, one, level + 1)
        return parts

    def _nested(self, prose, one, level):
        inner = [m for m in one.members if m.kind == "field"]
        parts = [self._fields(prose, inner)] if inner else []
        for group in _entries([m for m in one.members if m.kind != "field" and not m.folded
                               and m.name not in AWAITABLE]):
            parts += self._entry(prose, group, min(level, 6))
        return parts

    def _enumerators(self, prose, one):
        has_value = any(m.default for m in one.members)
        heads = ["Name", *(["Value"] if has_value else []), "What it means"]
        rows = []
        for m in one.members:
            value = f"<td>{f'<code>{prose.code(m.default)}</code>' if m.default else ''}</td>" if has_value else ""
            rows.append(f'<tr><td id="{anchor_in(m, prose.top)}"><code>{m.name}</code></td>{value}'
                        f"<td>{prose.comment(m.comment)}</td></tr>")
        head = "".join(f"<th>{text}</th>" for text in heads)
        return f'<table class="values"><thead><tr>{head}</tr></thead>\n<tbody>' + "\n".join(rows) + "</tbody></table>"


def _rest_of_enum(one):
    return " { ... }" if one.kind == "enum" else ""


def _slug(text):
    return re.sub(r"\W+", "-", text.lower()).strip("-")[:40].strip("-")


def _heading_of(one):
    return f"{one.name}()" if one.kind == "function" and not one.name.startswith("operator") else one.name


def _entries(declarations):
    """The declarations as entries: all overloads of a name together, where the first stands; and names that share a
    comment with it."""
    found, by_name = [], {}
    for one in declarations:
        key = (one.name, one.kind == "function")
        if key in by_name:
            by_name[key].append(one)
        elif one.shares and found and found[-1][0].kind == one.kind:
            found[-1].append(one)
            by_name[key] = found[-1]
        else:
            found.append([one])
            by_name[key] = found[-1]
    return found


def _by_comment(group):
    found = []
    for one in group:
        if found and one.shares and one.comment is found[-1][0].comment:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def _special_facts(one):
    """What the special members that nobody comments say, in words."""
    folded = [m for m in one.members if m.folded]
    own = re.escape(one.name)
    kinds = {}
    for m in one.members:
        if match := re.match(rf"(?:constexpr )?{own}\((const )?{own}(?:<[^>]*>)? ?(&&?)", m.signature):
            kinds["move" if match[2] == "&&" else "copy"] = not m.signature.endswith("= delete")
    facts = []
    if kinds.get("copy"):
        facts.append("It can be copied and moved")
    elif kinds.get("move"):
        facts.append("It can be moved, but not copied")
    elif kinds:
        facts.append("It can be neither copied nor moved")
    if any(m.name in ("operator==", "operator<=>") for m in folded):
        facts.append("Two of them can be compared")
    if any(m.signature.startswith(f"{one.name}() = default") for m in folded):
        facts.append("It has a default constructor")
    return facts


def all_pages(headers, writer):
    """Every page of classes and headers, as (path, Markdown)."""
    for header in headers:
        for one in header.declarations:
            if one.is_class:
                yield writer.class_page(header, one)
        if has_page(header):
            yield writer.header_page(header)
