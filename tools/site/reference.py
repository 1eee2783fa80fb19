# SPDX-License-Identifier: BSD-3-Clause
"""Writes the reference: reads the public headers and makes pages of Markdown, and the part of the navigation for them.

The same headers give the same bytes.
"""
from collections import Counter
from pathlib import Path

import headers as reader
import indexes
import pages
from declarations import counted, undocumented
from names import HOME, Names, has_page, page_of, page_of_header
from public_headers import public_headers


class Reference:
    """The whole reference: `pages` has the Markdown by path, `navigation` what mkdocs takes."""

    def __init__(self, headers, version, architecture="", documents=()):
        names = Names(headers, documents)
        told = indexes.folders_of(architecture)
        self.headers, self.names = headers, names
        self.figures = self._count()
        made = dict(pages.all_pages(headers, pages.Writer(names, version)))
        floors = sorted({header.floor for header in headers})
        for floor in floors:
            own = [header for header in headers if header.floor == floor]
            path, text = indexes.floor_page(names, own, floor, told)
            made[path] = text
        made.update([indexes.front_page(headers, told, version, self.figures), indexes.names_page(names)])
        self.pages = {path.removesuffix(".html") + ".md": text for path, text in sorted(made.items())}
        self.navigation = [f"{HOME}/index.md", {"All names": f"{HOME}/names.md"},
                           *({floor: self._of_floor(floor)} for floor in floors)]

    def _count(self):
        all_of_them = [one for _, one in counted(self.headers)]
        silent = Counter(one.kind for _, one in undocumented(self.headers))
        return {"headers": len(self.headers), "declarations": len(all_of_them),
                "classes": sum(1 for one in all_of_them if one.is_class),
                "documented": len(all_of_them) - sum(silent.values()), "silent": dict(sorted(silent.items()))}

    def _of_floor(self, floor):
        """The navigation of one floor: its own pages, then its rooms."""
        found, rooms = [f"{HOME}/{floor}/index.md"], {}
        for header in self.headers:
            if header.floor != floor:
                continue
            inside = found if header.room == floor else rooms.setdefault(header.room.partition("/")[2], [])
            listed = [{one.name: page_of(header, one)} for one in header.declarations if one.is_class]
            if has_page(header):
                listed.append({header.name: page_of_header(header)})
            inside += [{name: page.removesuffix(".html") + ".md"} for one in listed for name, page in one.items()]
        def by_name(entry):
            return next(iter(entry)).lower()

        return [found[0], *sorted(found[1:], key=by_name),
                *({room: sorted(inside, key=by_name)} for room, inside in sorted(rooms.items()))]

    def write(self, folder):
        for path, text in self.pages.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def make(root, version, documents=()):
    """The reference of the headers under `root`. `documents` has the pages that comments may name."""
    architecture = (Path(root) / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return Reference(reader.read(root, public_headers(Path(root))), version, architecture, documents)
