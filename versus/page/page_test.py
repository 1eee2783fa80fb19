# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the report in a real browser: it opens offline without an error, in light and dark; every plot has its
table."""

from contextlib import ExitStack
from dataclasses import replace

import pytest

from versus import made_up
from versus.page import browser, report
from versus.page.page_checks import DEAD_LINKS, EMPTY_PLOTS, PAPER, PLOTS_WITHOUT_TABLE, fits, in_light_and_dark

# The plan has one cell per experiment, because drawing takes most of the time.
PLAN = replace(made_up.SMALL, experiments=(
    replace(made_up.PINGPONG, cells=made_up.PINGPONG.cells[1:2], claims=made_up.PINGPONG.claims[:1]),
    made_up.REST,
    replace(made_up.PAGES, cells=made_up.PAGES.cells[:1], claims=made_up.PAGES.claims[:1])))
UNFOLD = "[...document.querySelectorAll('details')].forEach(each => { each.open = true; })"
OPEN_IN_CELLS = """
[...document.querySelectorAll("h3.cell")].filter(each => each.nextElementSibling.textContent.startsWith("Measured"))
  .map(each => each.parentElement).map(cell => [...cell.querySelectorAll("svg, table")]
  .filter(shown => !shown.closest("details:not([open])")).map(shown => shown.tagName).join(" "))
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    report.write(made_up.results(folder / "store", PLAN), folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def browsing():
    """Closed by the last test, which checks that no process is left."""
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


def test_every_link_of_the_page_has_a_target(page):
    assert page.value(DEAD_LINKS) == 0


@pytest.mark.parametrize("width", [1200, 420])
def test_it_fits_the_window(page, width):
    assert fits(page, width)
    page.ask("Emulation.clearDeviceMetricsOverride")


def test_light_and_dark_differ_and_both_are_drawn(page, tmp_path):
    papers, (light, dark) = in_light_and_dark(page, tmp_path)
    assert papers == ["rgb(255, 255, 255)", "rgb(20, 23, 29)"] and not light & dark


def test_the_button_switches_the_theme(page):
    page.theme("dark")
    page.value("document.getElementById('theme').click()")
    assert page.value(PAPER) == "rgb(255, 255, 255)"
    page.value("document.getElementById('theme').click()")
    assert page.value(PAPER) == "rgb(20, 23, 29)"


def test_the_checks_notice_a_broken_page(page, written, tmp_path):
    """Shows that the tests above can fail: opens a page with a plot without a table, a picture from outside and an
    exception."""
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
