# SPDX-License-Identifier: BSD-3-Clause
"""Each finding of experiment 4 comes out both ways on made-up results; the published tables stand beside them."""

import pytest

from versus import classic
from versus.findings import CONFIRMED, NOT_HERE, REFUTED
from versus.findings.made_up_findings import cell, experiment, found, verdict_of

PAGE_CELLS = [cell("short100", short=True), cell("keep100")]
SHORT_CELLS = [cell(f"short{clients}", short=True, connections=clients) for clients in (1, 10, 100, 1000)]


def short(**speeds):
    """Each the same at every number of clients."""
    return experiment("pages", SHORT_CELLS, {(each["name"], name.replace("_", "-")): speed for each in SHORT_CELLS
                                             for name, speed in speeds.items()})


@pytest.mark.parametrize("rival", ["muduo", "libio"])
@pytest.mark.parametrize("nginx, expected", [(1500.0, CONFIRMED), (1000.0, REFUTED)])
def test_nginx_on_short_connections(rival, nginx, expected):
    verdict, figure = verdict_of(found(short(http_nginx=nginx, **{rival: 1000.0})),
                                 f"nginx is far ahead of {rival}")
    assert verdict == expected and f"4 loads, http-nginx / {rival}" in figure


@pytest.mark.parametrize("nginx, expected", [(1500.0, CONFIRMED), (1000.0, REFUTED)])
def test_nginx_is_held_against_the_fastest_library(nginx, expected):
    rows = found(short(http_nginx=nginx, http_libevent=1000.0, http_beast=300.0, http_raw_epoll=9000.0))
    verdict, figure = verdict_of(rows, "far ahead of the fastest of the libraries")
    assert verdict == expected and "http-nginx / http-libevent" in figure


@pytest.mark.parametrize("libio, expected", [(980.0, CONFIRMED), (700.0, REFUTED)])
def test_libio_and_muduo_near_each_other_with_many_clients(libio, expected):
    verdict, figure = verdict_of(found(short(libio=libio, muduo=1000.0)), "libio and muduo are near")
    assert verdict == expected and "3 loads" in figure


@pytest.mark.parametrize("libio, expected", [(500.0, CONFIRMED), (1000.0, REFUTED)])
def test_libio_behind_muduo_with_one(libio, expected):
    verdict, figure = verdict_of(found(short(libio=libio, muduo=1000.0)), "With one client libio")
    assert verdict == expected and "1 loads" in figure


@pytest.mark.parametrize("name", ["libio", "muduo", "http-libevent"])
@pytest.mark.parametrize("keep, expected", [(4000.0, CONFIRMED), (1200.0, REFUTED)])
def test_keep_alive_against_short_connections(name, keep, expected):
    made = experiment("pages", PAGE_CELLS, {("short100", name): 1000.0, ("keep100", name): keep})
    assert verdict_of(found(made), f"Keep-alive carries at least twice the pages: {name[-8:]}")[0] == expected


@pytest.mark.parametrize("name", ["libio", "muduo"])
@pytest.mark.parametrize("one, expected", [(100.0, CONFIRMED), (900.0, REFUTED)])
def test_one_client_against_ten(name, one, expected):
    made = experiment("pages", SHORT_CELLS, {("short1", name): one, ("short10", name): 1000.0})
    assert verdict_of(found(made), f"is slow ({name} published")[0] == expected


@pytest.mark.parametrize("unpooled, expected", [(800.0, CONFIRMED), (1200.0, REFUTED)])
def test_reused_objects(unpooled, expected):
    rows = found(short(http_peal_epoll=1000.0, http_peal_epoll_unpooled=unpooled))
    assert verdict_of(rows, "Reused objects")[0] == expected


def test_who_did_not_run_is_named():
    rows = found(short(http_nginx=1000.0))
    verdict, figure = verdict_of(rows, "nginx is far ahead of libio")
    assert verdict == NOT_HERE and "scripts/rivals" in figure


def test_the_drums_findings_stand_among_the_others():
    drum = {"findings": [{"sentence": "A drum finding.", "verdict": CONFIRMED, "figure": "7"}]}
    rows = found(drum=drum)
    assert [row["experiment"] for row in rows] == sorted(row["experiment"] for row in rows)
    assert verdict_of(rows, "A drum finding.") == (CONFIRMED, "7")


def test_the_published_tables_stand_beside_this_run():
    pages = experiment("pages", PAGE_CELLS, {("short100", "http-nginx"): 1000.0})
    brief, long = classic.pages(pages)
    nginx = {row["here"]: row["values"] for row in brief["table"] if "nginx" in row["contender"]}
    assert brief["columns"] == [1, 10, 100, 1000]
    assert nginx[True][2] == pytest.approx(60000.0, rel=0.01) and nginx[True][0] is None
    assert nginx[False] == [1033189, 3396090, 3273879, 3311860]
    assert [row["contender"] for row in long["table"]] == ["libio", "muduo"]


def test_the_first_run_of_a_page_count_is_discarded():
    pages = experiment("pages", PAGE_CELLS, {("short100", "http-nginx"): 1000.0})
    for run in pages["runs"]:
        run["figures"]["messages_per_s"] = {0: 9e9, 1: 10.0, 2: 20.0, 3: 30.0}.get(run["block"], 9e9)
    assert classic.pages(pages)[0]["table"][0]["values"][2] == pytest.approx(20.0 * 60)
