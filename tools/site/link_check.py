# SPDX-License-Identifier: BSD-3-Clause
"""Looks for dead links in a built site, anchors too, and for whatever a page would load from elsewhere."""
import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src",
           "embed": "src", "object": "data", "track": "src"}
_URL_IN_CSS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
_REMOTE = re.compile(r"^(?:https?:)?//", re.IGNORECASE)
# Relations of <link> that a browser does not load.
_NOT_LOADED = {"canonical", "prev", "next", "alternate", "license", "author"}


class _Page(HTMLParser):
    """What one page links to, what it loads, and the anchors that it has."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.links, self.loads, self.anchors, self.duplicates, self._ids = [], [], set(), [], set()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if own := values.get("id"):
            self.duplicates += [own] if own in self._ids else []
            self._ids.add(own)
        self.anchors |= {name for name in (own, values.get("name") if tag == "a" else None) if name}
        line = self.getpos()[0]
        if tag in ("a", "area") and values.get("href"):
            self.links.append((line, values["href"]))
        elif tag == "link" and values.get("href"):
            loaded = values.get("rel") not in _NOT_LOADED
            (self.loads if loaded else self.links).append((line, values["href"]))
        elif tag in _LOADED and values.get(_LOADED[tag]):
            self.loads.append((line, values[_LOADED[tag]]))
        if values.get("srcset"):
            self.loads += [(line, part.split()[0]) for part in values["srcset"].split(",") if part.strip()]
        if "url(" in (values.get("style") or ""):
            self.loads += [(line, target) for target in _targets_in_css(values["style"])]

    handle_startendtag = handle_starttag


def _targets_in_css(text):
    return [first or second for first, second in _URL_IN_CSS.findall(text)]


@cache
def _page(path):
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _fault_of(root, path, target):
    """What is wrong with one link; None if it leads somewhere."""
    place, _, anchor = target.partition("#")
    place = unquote(place.partition("?")[0])
    if place.startswith("/"):
        return f"{target} begins at the root of a server"
    found = (path.parent / place).resolve() if place else path
    if not found.is_relative_to(root):
        return f"{target} leads out of the site"
    if not found.is_file():
        return f"{target} does not exist"
    anchor = unquote(anchor)
    if anchor and found.suffix == ".html" and anchor not in _page(found).anchors and anchor != "__skip":
        return f"{target}: that page has no such anchor"
    return None


def _fault_of_load(root, path, target):
    """What is wrong with something that a page or a style sheet loads; None if nothing is."""
    if _REMOTE.match(target):
        return f"loads {target}"
    return None if target.startswith("data:") else _fault_of(root, path, target)


def faults(site):
    """Every fault of the site in `site`, as one line each."""
    root, found = Path(site).resolve(), []
    _page.cache_clear()
    for path in sorted(root.rglob("*.html")):
        page, shown = _page(path), path.relative_to(root)
        for line, target in page.loads:
            if fault := _fault_of_load(root, path, target):
                found.append(f"{shown}:{line}: {fault}")
        for line, target in page.links:
            if not re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.IGNORECASE) and \
                    (fault := _fault_of(root, path, target)):
                found.append(f"{shown}:{line}: {fault}")
        found += [f"{shown}: the anchor {name} is there twice" for name in dict.fromkeys(page.duplicates)]
    for path in sorted(root.rglob("*.css")):
        for target in _targets_in_css(path.read_text(encoding="utf-8")):
            if not target.startswith("#") and (fault := _fault_of_load(root, path, target)):
                found.append(f"{path.relative_to(root)}: {fault}")
    return found


if __name__ == "__main__":
    lines = faults(sys.argv[1])
    print("\n".join(lines))
    sys.exit(1 if lines else 0)
