#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opens a built site in Chromium from the file system, as a reader does, and says what is wrong with it.

  tools/site/look.py [--all] [--shots FOLDER] [SITE]

Each page is opened at 1280 and 400 pixels, light and dark: it must fit into the window, complain of nothing and request
nothing but files. Then the search must find something, and a reader without a mouse must reach the menu, the search and
the page. `--all` also opens every other page, once, at 400 pixels; `--shots` keeps pictures of what was seen.
"""
import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from versus.page import browser  # noqa: E402

WIDTHS, HEIGHT = (1280, 400), 900
THEMES = ("light", "dark")
SOME = ("index.html", "guide/index.html", "models.html", "figures.html", "architecture.html", "reference/index.html",
        "reference/net/index.html", "reference/net/Connection.html", "reference/net/ConnectionOptions.html",
        "reference/net/connection_callbacks_h.html", "source/examples/guide/index.html", "zh/index.html",
        "zh/guide/http.html")
# The files that only a browser writes or a page inlines.
_OWN = re.compile(r"^(?:file|data|blob|about):")
# A switch of colours is drawn as the label behind the hidden input that has the focus.
_FOCUS = """(() => { const has = document.activeElement,
  at = has.matches('.md-option') ? has.nextElementSibling : has, box = at.getBoundingClientRect(),
  style = getComputedStyle(at);
  const name = at.getAttribute('for') || at.getAttribute('href') || at.className || '';
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return {what: at.tagName + ' ' + name,
          seen: box.width > 0 && box.height > 0 && top !== null && (at.contains(top) || top.contains(at)),
          outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0}; })()"""
_KEYS = {"Tab": ("Tab", 9), "Enter": ("Enter", 13), "Escape": ("Escape", 27), "/": ("Slash", 191), "End": ("End", 35),
         "ArrowDown": ("ArrowDown", 40)}


def press(page, key):
    """Presses one key and lets it go."""
    code, number = _KEYS.get(key, (f"Key{key.upper()}", ord(key.upper()[0])))
    text = {"Enter": "\r", "/": "/"}.get(key, "")
    page.ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=code, windowsVirtualKeyCode=number, text=text)
    page.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=code, windowsVirtualKeyCode=number)


def resize(page, width):
    page.ask("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1, mobile=False)


def _told(page, where):
    """What the browser has complained of or requested elsewhere since the last call."""
    found = [f"{where}: {text}" for text in page.complaints]
    found += [f"{where}: requests {address}" for address in page.requests if not _OWN.match(address)]
    page.complaints.clear()
    page.requests.clear()
    return found


def faults_of_page(page, site, path, widths, shots=None, theme=""):
    """What is wrong with one page in the present theme."""
    found = []
    for width in widths:
        resize(page, width)
        page.open(site / path)
        page.until("document.readyState === 'complete'")
        wide = page.value("document.documentElement.scrollWidth - innerWidth")
        if wide > 0:
            found.append(f"{path} at {width} pixels: {wide} pixels wider than the window")
        if shots:
            name = path.removesuffix(".html").replace("/", "_")
            page.screenshot(shots / f"{name}-{width}-{theme}.png")
        found += _told(page, f"{path} at {width} pixels")
    return found


def hits(page, site, path, words):
    """How many results the search of a page shows for words that are typed after the key `/`."""
    resize(page, WIDTHS[0])
    page.open(site / path)
    page.until("document.querySelector('[data-md-component=search-query]')")
    press(page, "/")
    page.until("document.activeElement && document.activeElement.matches('[data-md-component=search-query]')")
    page.ask("Input.insertText", text=words)
    press(page, "End")  # the search reads the words when a key is let go
    page.until("document.querySelector('.md-search-result__item') || "
               "/^No |没有/.test(document.querySelector('.md-search-result__meta').textContent.trim())")
    return page.value("document.querySelectorAll('.md-search-result__item').length")


def faults_of_keyboard(page, site):
    """What a reader without a mouse cannot do on the front page."""
    found = []
    resize(page, WIDTHS[0])
    page.open(site / "index.html")
    seen = []
    for _ in range(14):
        press(page, "Tab")
        if seen and "md-search" in seen[-1]:
            page.until("!document.getElementById('__search').checked "
                       "&& document.getAnimations().every(one => one.playState !== 'running')")
        at = page.value(_FOCUS)
        seen.append(at["what"])
        if not at["outline"] and "md-search__input" not in at["what"]:
            found.append(f"the focus cannot be seen on {at['what']}")
        if not at["seen"]:
            found.append(f"Tab reaches {at['what']}, which cannot be seen")
    if not any("md-skip" in what or "#" in what for what in seen[:1]):
        found.append(f"the first Tab reaches {seen[0]}, not the link that skips the menus")
    if not any("md-search" in what for what in seen):
        found.append("Tab does not reach the search")
    return found + faults_of_menu(page, site)


def faults_of_menu(page, site):
    """What a reader without a mouse cannot do with the menu of a narrow screen."""
    resize(page, WIDTHS[1])
    page.open(site / "reference/net/Server.html")
    for _ in range(6):
        press(page, "Tab")
        if "__drawer" in page.value(_FOCUS)["what"]:
            break
    else:
        return ["at 400 pixels, Tab does not reach the menu's button"]
    found = []
    for levels in range(3):  # the menu opens at the page's own level; its first entry leads up
        press(page, "Enter")
        page.until("document.activeElement.matches('.md-nav--primary [tabindex=\"0\"]') "
                   f"&& document.querySelectorAll('.md-nav--primary .md-nav__toggle:checked').length === {2 - levels}")
        page.until("document.getAnimations().every(one => one.playState !== 'running')")
        at = page.value(_FOCUS)
        if not at["seen"] or not at["outline"]:
            found.append(f"in the menu, the focus cannot be seen on {at['what']}")
    for _ in range(3):
        press(page, "Tab")
        if not (at := page.value(_FOCUS))["seen"]:
            found.append(f"in the menu, Tab reaches {at['what']}, which is covered")
    press(page, "Escape")
    page.until("!document.getElementById('__drawer').checked "
               "&& document.activeElement.matches('label.md-header__button')")
    return found


def look(site, paths, others=(), shots=None):
    """Every fault of the site, as sentences. `others` are opened once."""
    found = []
    for theme in THEMES:
        with browser.opened() as page:  # a browser of its own: it keeps the theme that a page has shown
            page.theme(theme)
            for path in paths:
                found += faults_of_page(page, site, path, WIDTHS, shots, theme)
    with browser.opened() as page:
        for path in others:
            found += faults_of_page(page, site, path, WIDTHS[1:])
        for path, words in (("index.html", "idle_timeout"), ("reference/net/Server.html", "drain"),
                            ("zh/index.html", "协程")):
            if (site / path).exists() and not hits(page, site, path, words):
                found.append(f"the search of {path} finds nothing for {words}")
        hits(page, site, "index.html", "Server")
        press(page, "ArrowDown")
        press(page, "Enter")
        page.until("!location.pathname.endsWith('/index.html') && document.readyState === 'complete'")
        found += faults_of_keyboard(page, site) + _told(page, "search and keyboard")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", nargs="?", type=Path, default=ROOT / "build" / "site" / "html")
    parser.add_argument("--all", action="store_true", help="open every page")
    parser.add_argument("--shots", type=Path, help="where pictures go")
    parsed = parser.parse_args()
    site = parsed.site.resolve()
    if parsed.shots:
        parsed.shots.mkdir(parents=True, exist_ok=True)
    paths = [path for path in SOME if (site / path).exists()]
    every = sorted(str(path.relative_to(site)) for path in site.rglob("*.html")) if parsed.all else []
    others = [path for path in every if path not in paths]
    found = look(site, paths, others, parsed.shots)
    print("\n".join(dict.fromkeys(found)), end="\n" if found else "")
    print(f"site: Chromium opened {len(paths)} pages at {' and '.join(map(str, WIDTHS))} pixels, light and dark"
          + (f", and {len(others)} at {WIDTHS[1]} pixels" if others else "") + f": {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
