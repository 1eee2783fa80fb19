# SPDX-License-Identifier: BSD-3-Clause
"""The report in a real browser: it opens offline without a complaint, in light and dark; every plot has its table."""

from contextlib import ExitStack
from dataclasses import replace

import pytest

from versus import made_up
from versus.page import browser, report

PNG = b"\x89PNG\r\n\x1a\n"
# One cell of each experiment: drawing is what costs.
PLAN = replace(made_up.SMALL, experiments=(
    replace(made_up.PINGPONG, cells=made_up.PINGPONG.cells[1:2], claims=made_up.PINGPONG.claims[:1]),
    made_up.REST,
    replace(made_up.PAGES, cells=made_up.PAGES.cells[:1], claims=made_up.PAGES.claims[:1])))
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
UNFOLD = "[...document.querySelectorAll('details')].forEach(each => { each.open = true; })"
OPEN_IN_CELLS = """
[...document.querySelectorAll("h3.cell")].filter(each => each.nextElementSibling.textContent.startsWith("Measured"))
  .map(each => each.parentElement).map(cell => [...cell.querySelectorAll("svg, table")]
  .filter(shown => !shown.closest("details:not([open])")).map(shown => shown.tagName).join(" "))
"""
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PAPER = "getComputedStyle(document.body).backgroundColor"
INK_OF_PLOTS = """
[...new Set([...document.querySelectorAll("svg text")].map(text => getComputedStyle(text).fill))].join(" ")
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    report.write(made_up.results(folder / "store", PLAN), folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def browsing():
    """Closed by the last test, which looks at what is left."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def page(written, browsing):
    opened = browsing.enter_context(browser.opened())
    opened.open(written)
    return opened


def test_it_opens_offline_without_a_complaint(page, written):
    assert page.requests == [written.resolve().as_uri()] and page.complaints == []
    assert page.value("document.title").startswith("The lab, full")
    assert page.value("document.querySelectorAll('section').length") >= 8


def test_a_cell_shows_one_picture_and_folds_the_rest(page):
    shown = page.value(OPEN_IN_CELLS)
    assert len(shown) >= 3 and set(shown) == {"svg"}


def test_every_plot_is_drawn_and_has_its_table(page):
    page.value(UNFOLD)
    assert page.value("document.querySelectorAll('svg').length") >= 12
    assert page.value(PLOTS_WITHOUT_TABLE) == [] and page.value(EMPTY_PLOTS) == []


def test_every_link_of_the_page_leads_somewhere(page):
    assert page.value("[...document.querySelectorAll('a')].filter(a => !document.querySelector(a.hash)).length") == 0


@pytest.mark.parametrize("width", [1200, 420])
def test_it_fits_the_window(page, width):
    page.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    assert page.value(TOO_WIDE) <= 0
    page.ask("Emulation.clearDeviceMetricsOverride")


def test_light_and_dark_differ_and_both_are_drawn(page, tmp_path):
    seen = {}
    for name in ("light", "dark"):
        page.theme(name)
        image = page.screenshot(tmp_path / f"{name}.png")
        assert image.startswith(PNG) and len(image) > 20_000
        seen[name] = (page.value(PAPER), page.value(INK_OF_PLOTS))
    assert seen["light"][0] == "rgb(255, 255, 255)" and seen["dark"][0] == "rgb(20, 23, 29)"
    assert not set(seen["light"][1].split(") ")) & set(seen["dark"][1].split(") "))


def test_the_button_turns_the_theme_over(page):
    page.theme("dark")
    page.value("document.getElementById('theme').click()")
    assert page.value(PAPER) == "rgb(255, 255, 255)"
    page.value("document.getElementById('theme').click()")
    assert page.value(PAPER) == "rgb(20, 23, 29)"


def test_what_the_page_lacks_is_noticed(page, written, tmp_path):
    """The checks above can fail: a page with a bare plot, an outside picture and an exception."""
    broken = tmp_path / "broken.html"
    broken.write_text('<figure><svg aria-label="bare"></svg></figure><h4>next</h4><table></table>'
                      '<img src="missing.png"><script>throw new Error("no")</script>', encoding="utf-8")
    page.open(broken)
    assert page.value(PLOTS_WITHOUT_TABLE) == ["bare"] and page.value(EMPTY_PLOTS) == ["bare"]
    assert len(page.complaints) >= 2 and any("missing.png" in address for address in page.requests)
    page.open(written)
    page.complaints.clear()


def test_the_browser_leaves_no_process_behind(page, browsing):
    assert len(browser.alive(page.group)) > 1
    browsing.close()
    assert browser.alive(page.group) == []
