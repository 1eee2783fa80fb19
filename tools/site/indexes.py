# SPDX-License-Identifier: BSD-3-Clause
"""The pages of the reference that lead to the others: its front page, one for each floor, and all names in order."""
import html
import re
from collections import defaultdict

from names import HOME, anchor_of, has_page, page_of, page_of_header, relative
from prose import Prose, first_sentence

_ROW = re.compile(r"^\| *\d* *\| *((?:`peal/[\w/]+/` *)+)\| *(.+?) *\|$")


def folders_of(architecture):
    """What ARCHITECTURE.md says of each folder of peal/, as {"net": text}."""
    found = {}
    for line in architecture.splitlines():
        if match := _ROW.match(line):
            for path in re.findall(r"`peal/([\w/]+)/`", match[1]):
                found[path] = match[2].replace(" `parts/`:", " Private:").split(" Private:")[0]
    return found


def _head(title, description, exclude=False):
    hidden = "search:\n  exclude: true\n" if exclude else ""
    return f'---\ntitle: "{title}"\ndescription: "{description}"\n{hidden}---\n\n# {title}\n\n'


def _said(text):
    """A sentence of Markdown as HTML: only its code is marked up."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def _rows(names, header, page):
    """(link, what it is) of everything that a header declares."""
    main, own = header.main(), page_of_header(header)
    for one in header.declarations:
        if one.is_class:
            comment = header.essay if one is main and header.essay else one.comment
            place = page_of(header, one)
        else:
            comment, place = one.comment, f"{own}#{anchor_of(one.name)}"
        said = first_sentence(comment, one.name)
        if not said and (options := re.fullmatch(r"(\w+)Options", one.name)) and names.place(options[1]):
            said = f"Options of {options[1]}"
        said = Prose(names, page).text(said)
        call = "()" if one.kind == "function" and not one.name.startswith("operator") else ""
        yield one, f'<a href="{relative(page, place)}"><code>{html.escape(one.name)}{call}</code></a>', said


def floor_page(names, headers, floor, told):
    """(path, Markdown) of the page that lists what a floor has, room by room."""
    page = f"{HOME}/{floor}/index.html"
    rooms = defaultdict(list)
    for header in headers:
        rooms[header.room].append(header)
    text = _head(f"peal/{floor}", f"What the folder peal/{floor}/ has")
    for room, inside in sorted(rooms.items()):
        if room != floor:
            text += f"## {room} {{ #{anchor_of(room)} }}\n\n"
        if room in told:
            text += f"<p>{_said(told[room])}</p>\n\n"
        seen, rows = set(), []
        for header in inside:
            lines = [(link, said) for one, link, said in _rows(names, header, page)
                     if not (one.name in seen or seen.add(one.name)) and one.kind != "enumerator"]
            place = names.place_of_header(header.path)
            shown = f"<code>{header.name}</code>"
            shown = f'<a href="{relative(page, place)}">{shown}</a>' if place and has_page(header) else shown
            if lines or has_page(header):
                rows.append(f'<tr class="header"><th colspan="2" scope="rowgroup">{shown}</th></tr>')
            rows += [f"<tr><td>{link}</td><td>{said}</td></tr>" for link, said in lines]
        text += '<table class="contents"><tbody>\n' + "\n".join(rows) + "\n</tbody></table>\n\n"
    return page, text


def front_page(headers, told, version, figures):
    """(path, Markdown) of the reference's first page."""
    page = f"{HOME}/index.html"
    floors = sorted({header.floor for header in headers})
    text = _head("Reference", "Every public name of peal")
    text += (f"<p>Every public name of peal {version}: {figures['classes']} classes and structs, "
             f"{figures['declarations']} declarations in {len(headers)} headers. The pages are made from the comments "
             "of the headers. Private members, <code>namespace peal::detail</code> and the folders "
             "<code>parts/</code> are left out.</p>\n\n"
             '<p><a href="names.html">All names in the order of the alphabet</a></p>\n\n'
             '<table class="contents"><tbody>\n')
    for floor in floors:
        text += (f'<tr><td><a href="{floor}/index.html"><code>peal/{floor}/</code></a></td>'
                 f"<td>{_said(told.get(floor, ''))}</td></tr>\n")
    return page, text + "</tbody></table>\n"


def names_page(names):
    """(path, Markdown) of the list of all names."""
    page = f"{HOME}/names.html"
    letters = defaultdict(list)
    for name, place in names.all():
        letters[name[0].upper() if name[0].isalpha() else "#"].append((name, place))
    text = _head("All names", "Every public name of peal in the order of the alphabet", exclude=True)
    for letter, inside in sorted(letters.items()):
        links = "\n".join(f'<li><a href="{relative(page, place)}"><code>{html.escape(name)}</code></a></li>'
                          for name, place in inside)
        text += f'## {letter} {{ #letter-{letter.lower()} }}\n\n<ul class="names">\n{links}\n</ul>\n\n'
    return page, text
