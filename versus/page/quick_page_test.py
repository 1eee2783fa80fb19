# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the quick page in a real browser: the answer is on the first screen, wide and narrow, light and dark. Little
else is open."""

import pytest

from versus import made_up
from versus.page import browser, figures, quick_figures, quick_page
from versus.page.page_checks import EMPTY_PLOTS, fits, in_light_and_dark, resize
from versus.duel import duel_fakes
from versus.quick import quick_judge, quick_lab
from versus.quick.quick_plan import CELLS, CLAIMS

BOTTOM_OF = "document.querySelector('{}').getBoundingClientRect().bottom + window.scrollY"
OPEN_TABLES = "[...document.querySelectorAll('table')].filter(table => !table.closest('details')).length"
OPEN_DETAILS = """
[...document.querySelectorAll("details[open]")].filter(each => !each.parentElement.closest("details")).length
"""


def results():
    duels = [duel_fakes.duel(cell.load, cell.contenders, tuple(c for c in CLAIMS if c.cell == cell.name))
             for cell in CELLS]
    counted = {"peal-epoll": 303.0, "raw-epoll": 74.0}
    return {"schema": 3, "plan": {"name": "quick", "title": quick_lab.TITLE}, "seed": 3, "started": "2026-01-01 00:00",
            "command": "python3 -m versus quick", "elapsed_s": 280.0, "left_out": ["mine: it is <not> there"],
            "environment": {"Kernel": "Linux", "Processor": "a made-up one"},
            "claims": quick_judge.claims(duels, CLAIMS), "then_and_now": quick_judge.then_and_now(duels),
            "elsewhere": quick_judge.elsewhere(),
            "cells": [quick_lab.cell_of(duel, counted) for duel in duels], "drum": made_up.drum_results(3),
            "not_played": []}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    quick_page.write(results(), path)
    with browser.opened() as opened:
        opened.open(path)
        yield opened


def test_it_opens_offline_without_a_complaint(page):
    assert len(page.requests) == 1 and page.complaints == []
    assert "claims declared beforehand" in page.value("document.title")


def test_the_costs_fit_the_first_screen(page):
    resize(page, 1280, 800)
    assert page.value(BOTTOM_OF.format("#costs")) <= 800
    assert page.value("document.querySelectorAll('figure.cell svg').length") == len(CELLS)
    assert page.value(EMPTY_PLOTS) == []


@pytest.mark.parametrize("width", [1280, 400])
def test_it_fits_the_window(page, width):
    assert fits(page, width)


@pytest.mark.parametrize("width", [1280, 400])
def test_every_verdict_is_visible_without_scrolling_sideways(page, width):
    resize(page, width)
    assert page.value("document.querySelectorAll('#claims .tag').length") == len(CLAIMS)
    assert page.value(f"[...document.querySelectorAll('#claims .tag, #then .tag')].filter(tag => "
                      f"tag.getBoundingClientRect().right > {width} || !tag.offsetHeight).length") == 0


def test_a_contender_far_behind_does_not_squeeze_the_others():
    cell = next(cell for cell in results()["cells"] if cell["name"] == "16KiBx100")
    near = [row for row in cell["rows"] if row["contender"] != "libevent"]
    libevent = next(row for row in cell["rows"] if row["contender"] == "libevent")
    far = libevent | {"ratio": 9.0, "low": 8.9, "high": 9.1}
    drawn = quick_figures.costs(cell | {"rows": [*near, far]}, [])
    assert ">9.00" in drawn and ">2</text>" not in drawn and ">1.05</text>" in drawn


def test_two_tables_are_open_and_the_rest_is_folded_away(page):
    assert page.value(OPEN_TABLES) == 2
    assert page.value("document.querySelectorAll('#claims tbody tr').length") == len(CLAIMS)
    assert page.value(OPEN_DETAILS) == 0
    assert page.value("document.querySelectorAll('#rest table').length") > len(CELLS)


def test_findings_that_other_labs_judge_are_one_line_with_a_count(page):
    judged = quick_judge.elsewhere()
    where = [row["where"] for row in judged]
    assert all(where.count(each) > 3 for each in (quick_judge.LAB, quick_judge.MODELS, quick_judge.UNPACKAGED))
    line = page.value("document.querySelector('#then details summary').textContent")
    assert line.startswith(f"{len(judged)} published findings are judged elsewhere: ")
    assert f"{where.count(quick_judge.LAB)} by make lab" in line
    assert page.value("document.querySelectorAll('#then details li').length") == len(judged)


def test_left_out_lines_are_escaped(page):
    assert "it is <not> there" in page.value("document.querySelector('#rest').textContent")


def test_a_library_has_one_colour_everywhere(page):
    names = [name for cell in CELLS for name in cell.contenders]
    for name in ("peal-epoll", "raw-epoll", "libevent"):
        assert figures.place_of(f"http-{name}", names) == figures.place_of(name, names)
    assert page.value("document.documentElement.outerHTML.split('var(--s0)').length") > len(CELLS)


def test_light_and_dark_are_both_drawn(page, tmp_path):
    papers, _ = in_light_and_dark(page, tmp_path)
    assert papers[0] != papers[1]
