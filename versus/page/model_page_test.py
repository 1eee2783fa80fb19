# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the page of experiment 5 in a real browser, on made-up runs: heat maps with their tables, the best, the
advice. Also tests the sentences of the advice, which must follow from the cells."""

import re
from dataclasses import replace

import pytest

from versus import made_up
from versus.models import model_plans
from versus.page import browser, model_figures, model_page, report
from versus.experiments import Plan
from versus.models.model_advice import advice
from versus.models.model_analysis import CPU, MEMORY, METRICS, SPEED, TAIL, behind, best_of, winners
from versus.page.page_checks import DEAD_LINKS, EMPTY_PLOTS, PLOTS_WITHOUT_TABLE, fits, in_light_and_dark

# The claims have only one of their situations here, because drawing takes most of the time.
PLAN = replace(model_plans.QUICK, experiments=(
    model_plans.QUICK_GRID,
    replace(model_plans.QUICK_CLAIMS, cells=model_plans.CLAIM_CELLS[:1], claims=model_plans.QUICK_CLAIMS.claims[:1])))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return made_up.results(tmp_path_factory.mktemp("made") / "store", PLAN)


@pytest.fixture(scope="module")
def page(results, tmp_path_factory):
    written = tmp_path_factory.mktemp("page") / "report.html"
    report.write(results, written)
    with browser.opened() as opened:
        opened.open(written)
        yield opened


def test_it_opens_offline_with_its_heat_maps(page):
    assert page.complaints == [] and len(page.requests) == 1
    labels = page.value("[...document.querySelectorAll('svg')].map(svg => svg.getAttribute('aria-label'))")
    assert [f"Heat map: {metric.words}, model by situation" for metric in METRICS] == labels[: len(METRICS)]
    assert page.value(PLOTS_WITHOUT_TABLE) == [] and page.value(EMPTY_PLOTS) == []


def test_every_link_has_a_target_and_the_page_fits_the_window(page):
    assert page.value(DEAD_LINKS) == 0
    assert fits(page, 1200) and fits(page, 420)
    page.ask("Emulation.clearDeviceMetricsOverride")


def test_both_themes_are_drawn(page, tmp_path):
    papers, (light, dark) = in_light_and_dark(page, tmp_path)
    assert papers[0] != papers[1] and not light & dark


def test_the_page_has_a_table_for_each_situation_and_words_for_each_row(page):
    text = page.value("document.querySelector('#models').textContent")
    for cell in model_plans.QUICK_GRID.cells:
        assert cell.title in text
    assert "When to choose which" in text and "Best in each situation" in text and "1 of 100" in text
    assert page.value("document.querySelectorAll('#advice ~ .wide tbody tr').length") >= 9


def grid(results):
    return results["experiments"][0]


def test_a_heat_map_and_its_table_agree(results):
    made = model_figures.heat_rows(grid(results), SPEED)
    single = next(row for row in made if row["contender"] == "blocking_single")["fields"]
    assert single[0]["text"] == "1/100" and single[0]["times"] is None and single[2]["times"] == 1.0
    compared = [row["fields"][0]["times"] for row in made if row["fields"][0]["times"] is not None]
    assert min(compared) == 1.0 and len(compared) == len(made) - 1, "a model that serves one connection is not compared"
    html = model_page.section(grid(results))
    for row in made:
        assert all(f">{field['text']}<" in html or f"({field['text']})" in html for field in row["fields"])


def test_a_grid_without_a_run_says_so(results):
    empty = grid(results) | {"rows": [], "runs": [], "pairs": []}
    html = model_page.section(empty)
    assert "No usable run." in html and "<svg" not in html


def situation(name, **more):
    return {"name": name, "title": name, "modes": ["closed"], "rate": 0.0, "unfit": {}, "work": "", "work_kind": "cpu",
            "rated": False} | more


def row(cell, name, speed, **more):
    return {"cell": cell, "contender": name, "runs": 3, "asked": 100, "served": 100, "messages_per_s": speed,
            "server_us": 1e6 / speed, "p99_us": 100.0, "rss_bytes": 2.0**20, "lower_bound": False,
            "at_rate": False} | more


def made(rows, cells, **contenders):
    names = dict.fromkeys(row["contender"] for row in rows)
    return {"cells": cells, "rows": rows, "contenders": [{"name": name} | contenders.get(name, {}) for name in names]}


def spoken(experiment, name):
    found = next(entry for entry in advice(experiment) if entry["contender"] == name)
    return " ".join(found["for"]), " ".join(found["against"])


def test_the_fastest_is_praised_with_its_figure_and_the_slow_one_is_not():
    experiment = made([row("a", "quick", 30000.0), row("a", "slow", 10000.0)], [situation("a")])
    for_quick, against_quick = spoken(experiment, "quick")
    assert "Fastest, or level with the fastest: a (30,000/s)." in for_quick
    assert against_quick == "Nothing here speaks against it."
    for_slow, against_slow = spoken(experiment, "slow")
    assert "Fastest" not in for_slow
    assert "Fewer requests: a: 3.0 times worse, 10,000/s against 30,000/s of quick." in against_slow
    assert "More server CPU: a: 3.0 times worse, 100 µs against 33.33 µs of quick." in against_slow


def test_opposite_cells_give_opposite_sentences():
    experiment = made([row("a", "quick", 10000.0), row("a", "slow", 30000.0)], [situation("a")])
    assert "Fastest" in spoken(experiment, "slow")[0] and "Fewer requests" in spoken(experiment, "quick")[1]


def test_a_model_that_serves_few_connections_is_named_and_not_compared():
    few = row("a", "single", 90000.0, served=1)
    experiment = made([few, row("a", "many", 30000.0)], [situation("a")], single={"times_out": False})
    for_single, against_single = spoken(experiment, "single")
    assert "it did not serve all" in for_single and "served 1 of 100 (a)" in against_single
    assert "slow clients are not closed" in against_single
    assert "Fastest" in spoken(experiment, "many")[0]
    assert behind(few, best_of(experiment["rows"], SPEED), SPEED) is None


def test_the_advice_says_why_a_model_could_not_run():
    cells = [situation("a"), situation("b", unfit={"select": "select works only with file descriptors below 1024"})]
    experiment = made([row("a", "select", 1000.0), row("b", "poll", 1000.0)], cells)
    assert "Not run: b: select works only with file descriptors below 1024." in spoken(experiment, "select")[1]


def test_a_long_tail_and_much_memory_are_named_with_the_figure():
    rows = [row("a", "x", 1000.0), row("a", "y", 1000.0, p99_us=900.0, rss_bytes=9 * 2.0**20)]
    against = spoken(made(rows, [situation("a")]), "y")[1]
    assert "A longer p99: a: 9.0 times worse, 900 µs against 100 µs of x." in against
    assert "More memory: a: 9.0 times worse, 9.0 MiB against 1.0 MiB of x." in against


def test_memory_of_several_processes_is_said_to_count_shared_pages_in_each():
    rows = [row("a", "x", 1000.0), row("a", "forks", 1000.0, rss_bytes=9 * 2.0**20)]
    against = spoken(made(rows, [situation("a")], forks={"processes": True}), "forks")[1]
    assert "More memory (a page that processes share counts once for each of them): a: 9.0 times worse" in against


def test_the_advice_says_if_sleeping_requests_overlap():
    cells = [situation("s", work="1ms", work_kind="sleep")]
    rows = [row("s", "threads", 60000.0), row("s", "half", 40000.0), row("s", "one", 900.0)]
    assert "Requests that sleep 1ms overlap: 40,000/s, 0.67 of the fastest." in spoken(made(rows, cells), "half")[0]
    assert "overlap" not in spoken(made(rows, cells), "one")[0]


def test_at_a_fixed_rate_no_model_is_faster():
    rows = [row("r", "x", 1000.0, at_rate=True), row("r", "y", 990.0, at_rate=True, server_us=2000.0)]
    experiment = made(rows, [situation("r", modes=["rate"])])
    assert best_of(rows, SPEED) is None and best_of(rows, CPU)["contender"] == "x"
    assert "Fastest" not in spoken(experiment, "x")[0] and model_figures.cells_of(experiment, SPEED) == []
    assert "More server CPU: r: 2.0 times worse" in spoken(experiment, "y")[1]


def test_an_unknown_figure_is_not_compared():
    rows = [row("a", "forks", 1000.0, server_us=None), row("a", "x", 1000.0)]
    experiment = made(rows, [situation("a")])
    assert best_of(rows, CPU)["contender"] == "x" and "server CPU" not in spoken(experiment, "forks")[0]
    assert {entry["best"] for entry in winners(experiment)[0]["entries"]} == {"forks", "x"}
    assert CPU.shown(None) == "-" and (TAIL.shown(12.34), MEMORY.shown(2.0**30)) == ("12.3 µs", "1,024 MiB")


def test_every_sentence_names_a_figure(results):
    for entry in advice(grid(results)):
        for sentence in entry["for"] + entry["against"]:
            assert re.search(r"\d", sentence) or sentence.startswith(("Nothing here", "A client that stops")), sentence


def test_the_published_loads_have_tables_without_a_heat_map(tmp_path):
    historic = replace(model_plans.FULL_HISTORIC, cells=(model_plans.WRITE_LOAD, model_plans.REPLY_LOAD))
    plan = Plan(model_plans.FULL.name, "t", (historic,), drum=False)
    made_results = made_up.results(tmp_path / "store", plan)
    html = model_page.section(made_results["experiments"][0])
    assert "<svg" not in html and "--workers 1" in html and html.count("<article") == 2
    assert "reactor_select" not in html.split("<article")[1].split("Not run")[0]
