# SPDX-License-Identifier: BSD-3-Clause
"""The checks that the tests of every page run in the browser."""

PLOTS_WITHOUT_TABLE = """
[...document.querySelectorAll("svg")].filter(svg => {
  // The plot's part of the page: what follows it up to the next heading.
  for (let next = svg.closest("figure").nextElementSibling; next; next = next.nextElementSibling) {
    if (/^H[1-6]$/.test(next.tagName)) return true;
    if (next.matches("table") || next.querySelector("table")) return false;
  }
  return true;
}).map(svg => svg.getAttribute("aria-label"))
"""
EMPTY_PLOTS = """
[...document.querySelectorAll("svg")].filter(svg => svg.getBoundingClientRect().height < 50
  || svg.querySelectorAll("text").length < 3).map(svg => svg.getAttribute("aria-label"))
"""
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PAPER = "getComputedStyle(document.body).backgroundColor"
INK_OF_PLOTS = """
[...new Set([...document.querySelectorAll("svg text")].map(text => getComputedStyle(text).fill))].join(" ")
"""
DEAD_LINKS = "[...document.querySelectorAll('a')].filter(a => !document.querySelector(a.hash)).length"


def resize(page, width, height=900):
    page.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)


def fits(page, width):
    resize(page, width)
    return page.value(TOO_WIDE) <= 0


def in_light_and_dark(page, tmp_path):
    """Returns the page's background colours and the plots' text colours in both themes, and asserts that both are
    drawn."""
    papers, inks = [], []
    for name in ("light", "dark"):
        page.theme(name)
        image = page.screenshot(tmp_path / f"{name}.png")
        assert image.startswith(b"\x89PNG\r\n\x1a\n") and len(image) > 20_000
        papers.append(page.value(PAPER))
        inks.append(set(page.value(INK_OF_PLOTS).split(") ")))
    return papers, inks
