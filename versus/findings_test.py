# SPDX-License-Identifier: BSD-3-Clause
"""Each published finding comes out both ways on made-up results, and says what it lacks where it cannot be judged."""

import random

import pytest

from versus import classic, findings, published
from versus.findings import CONFIRMED, NOT_HERE, REFUTED

BLOCKS = 8


def cell(name, **more):
    return {"name": name, "title": name, "modes": ["closed"], "threads": 1, "connections": 100, "short": False,
            "size": 0} | more


def experiment(name, cells, speeds, **more):
    """Results of one experiment; `speeds` is {(cell, contender): messages/s}, each run within 1 % of it."""
    noise = random.Random(7)
    runs, saturation = [], []
    for (where, who), speed in speeds.items():
        values = [speed * noise.uniform(0.99, 1.01) for _ in range(BLOCKS)]
        for block, value in enumerate(values):
            runs.append({"cell": where, "mode": "closed", "contender": who, "block": block, "status": "ok",
                         "figures": {"messages_per_s": value, "mib_per_s": value, "server_cpu_ns": 1e9 / value}})
        saturation.append({"cell": where, "contender": who, "never_saturated": False, "lower_bound": False,
                           "least": min(values), "most": max(values), "mean": speed, "server_share": 0.97,
                           "server_percent": {"least": 97.0, "most": 99.0, "mean": 98.0},
                           "rss_bytes": {"least": 1 << 20, "most": 2 << 20, "mean": 1.5 * (1 << 20)}})
    contenders = [{"name": who, "shown": True} for who in dict.fromkeys(who for _, who in speeds)]
    return {"name": name, "cells": cells, "runs": runs, "saturation": saturation, "contenders": contenders,
            "costs": [], "twin": "peal-epoll-twin"} | more


def found(*experiments, **more):
    """The findings by the first words of their sentence."""
    return findings.of({"experiments": list(experiments), "drum": None} | more)


def verdict_of(rows, words):
    row = next(row for row in rows if words in row["sentence"])
    return row["verdict"], row["figure"]


@pytest.mark.parametrize("muduo, expected", [(1300.0, CONFIRMED), (1100.0, REFUTED), (1150.0, NOT_HERE)])
def test_the_lead_over_asio_is_that_over_the_faster_asio(muduo, expected):
    cells = [cell("16KiBx100", size=16384), cell("16KiBx1000", size=16384)]
    speeds = {(c["name"], who): value for c in cells for who, value in
              (("muduo", muduo), ("asio-per-thread", 1000.0), ("asio-shared", 400.0))}
    rows = found(experiment("pingpong", cells, speeds))
    verdict, figure = verdict_of(rows, "muduo is at least 15 % ahead of asio at 16 KiB")
    assert verdict == expected and "muduo / asio" in figure and "8 blocks" in figure
    assert (expected == NOT_HERE) == ("holds the bound" in figure)


def test_too_few_blocks_judge_nothing():
    speeds = {("keep200x8t", "http-nginx"): 1000.0, ("keep200x8t", "http-libevent"): 1000.0}
    made = experiment("rest", REST_CELL, speeds)
    made["runs"] = [run for run in made["runs"] if run["block"] < 5]
    verdict, figure = verdict_of(found(made), "nginx and libevent are level")
    assert verdict == NOT_HERE and "5 blocks: too few, 6 are needed" in figure


def test_where_a_program_differs_from_itself_nothing_is_judged():
    speeds = {("keep200x8t", "http-nginx"): 1500.0, ("keep200x8t", "http-libevent"): 1000.0}
    noise = [{"cell": "keep200x8t", "metric": "speed", "differs": True}]
    rows = found(experiment("rest", REST_CELL, speeds, noise=noise))
    verdict, figure = verdict_of(rows, "nginx and libevent are level")
    assert verdict == NOT_HERE and figure.endswith("the same program differs from itself there")
    noise[0]["metric"] = "server_cpu"
    assert verdict_of(found(experiment("rest", REST_CELL, speeds, noise=noise)),
                      "nginx and libevent are level")[0] == REFUTED


def test_a_single_case_is_the_largest_of_them():
    cells = [cell("16KiBx1", size=16384), cell("16KiBx100", size=16384)]
    speeds = {("16KiBx1", "peal-epoll"): 1800.0, ("16KiBx1", "asio-per-thread"): 1000.0,
              ("16KiBx100", "peal-epoll"): 1000.0, ("16KiBx100", "asio-per-thread"): 1000.0}
    rows = found(experiment("pingpong", cells, speeds))
    assert verdict_of(rows, "In muduo's place, peal on epoll: up to 70 %")[0] == CONFIRMED
    assert verdict_of(rows, "In muduo's place, peal on epoll: at least 15 %")[0] == CONFIRMED  # 1.34 on average
    assert verdict_of(rows, "muduo is up to 70 %")[0] == NOT_HERE


def test_who_is_not_packaged_says_how_to_be_added():
    rows = found()
    assert "--contender 'muduo=COMMAND'" in verdict_of(rows, "muduo is at least 15 %")[1]
    assert "--contender 'http:muduo=COMMAND'" in verdict_of(rows, "muduo answers more than twice")[1]
    assert "cppcms is not packaged" in verdict_of(rows, "cppcms is the slowest")[1]
    assert {row["verdict"] for row in rows} == {NOT_HERE} and all(row["figure"] for row in rows)


REST_CELL = [cell("keep200x8t", threads=8)]


@pytest.mark.parametrize("nginx, expected", [(1.02, CONFIRMED), (1.5, REFUTED), (1.1, NOT_HERE)])
def test_level_means_within_a_tenth(nginx, expected):
    speeds = {("keep200x8t", "http-nginx"): 1000.0 * nginx, ("keep200x8t", "http-libevent"): 1000.0}
    assert verdict_of(found(experiment("rest", REST_CELL, speeds)), "nginx and libevent are level")[0] == expected


@pytest.mark.parametrize("nginx, full, expected", [
    (1500.0, "http-nginx", REFUTED),  # it may be faster still
    (1500.0, "http-libevent", NOT_HERE), (600.0, "http-nginx", NOT_HERE), (600.0, "http-libevent", REFUTED),
    (1000.0, "http-nginx", NOT_HERE)])
def test_what_a_full_generator_could_turn_over_is_not_judged(nginx, full, expected):
    speeds = {("keep200x8t", "http-nginx"): nginx, ("keep200x8t", "http-libevent"): 1000.0}
    made = experiment("rest", REST_CELL, speeds)
    for row in made["saturation"]:
        row["lower_bound"] = row["contender"] == full
    verdict, figure = verdict_of(found(made), "nginx and libevent are level")
    assert verdict == expected and ("filled first with " + full in figure) == (expected == NOT_HERE)


@pytest.mark.parametrize("beast, expected", [(200.0, CONFIRMED), (900.0, REFUTED)])
def test_asio_far_behind(beast, expected):
    speeds = {("keep200x8t", "http-beast"): beast, ("keep200x8t", "http-libevent"): 1000.0}
    verdict, figure = verdict_of(found(experiment("rest", REST_CELL, speeds)), "asio answers less than half")
    assert verdict == expected and "keep200x8t" in figure


@pytest.mark.parametrize("idle, expected", [(True, CONFIRMED), (False, REFUTED)])
def test_a_row_that_never_saturated(idle, expected):
    made = experiment("rest", REST_CELL, {("keep200x8t", who): 500.0 for who in ("http-beast", "http-libevent")})
    made["saturation"][0]["never_saturated"] = idle
    assert verdict_of(found(made), "never saturated the CPU")[0] == expected
    assert ("never saturated" in classic.rest(made)[0]["flag"]) == idle


def test_where_nobody_saturated_it_is_not_the_servers_doing():
    made = experiment("rest", REST_CELL, {("keep200x8t", who): 500.0 for who in ("http-beast", "http-libevent")})
    for row in made["saturation"]:
        row["never_saturated"] = True
    assert verdict_of(found(made), "never saturated the CPU")[0] == NOT_HERE


@pytest.mark.parametrize("slow, fast, expected", [(2.0, 0.0, CONFIRMED), (0.01, 0.0, REFUTED), (2.0, 1.9, REFUTED)])
def test_a_mutex_on_the_way_shows_as_futex_calls(slow, fast, expected):
    calls = [("http-beast", slow), ("http-libevent", fast)]
    costs = [{"cell": "keep200x8t", "contender": who, "calls_by_name": {"futex": count, "recvfrom": 1.0}}
             for who, count in calls]
    made = experiment("rest", REST_CELL, {("keep200x8t", who): 500.0 for who, _ in calls}, costs=costs)
    verdict, figure = verdict_of(found(made), "mutex around epoll")
    assert verdict == expected and f"{slow:.3f}" in figure


@pytest.mark.parametrize("speed, expected", [(1.2, CONFIRMED), (0.9, REFUTED)])
def test_the_axis_of_compilers(speed, expected):
    cells = [cell("64Bx1000")]
    speeds = {("64Bx1000", "peal-epoll"): 1000.0, ("64Bx1000", "peal-epoll-twin"): 1000.0,
              ("64Bx1000", "peal-epoll-gcc-O3"): 1000.0 * speed, ("64Bx1000", "peal-epoll-clang-O2"): 1000.0 * speed}
    rows = found(experiment("compilers", cells, speeds))
    assert verdict_of(rows, "-O3 helps")[0] == expected
    assert verdict_of(rows, "g++ and clang are equal")[0] == REFUTED


def test_compilers_that_make_no_difference_are_equal():
    speeds = {("64Bx1000", who): 1000.0 for who in ("peal-epoll", "peal-epoll-clang-O2")}
    assert verdict_of(found(experiment("compilers", [cell("64Bx1000")], speeds)), "equal")[0] == CONFIRMED


PAGE_CELLS = [cell("short100", short=True), cell("keep100")]


@pytest.mark.parametrize("nginx, expected", [(1500.0, CONFIRMED), (1000.0, REFUTED)])
def test_nginx_is_held_against_the_fastest_library(nginx, expected):
    speeds = {("short100", "http-nginx"): nginx, ("short100", "http-libevent"): 1000.0,
              ("short100", "http-poco"): 300.0, ("short100", "http-raw-epoll"): 9000.0}
    verdict, figure = verdict_of(found(experiment("pages", PAGE_CELLS, speeds)), "nginx is far ahead")
    assert verdict == expected and "http-nginx / http-libevent" in figure


@pytest.mark.parametrize("keep, expected", [(4000.0, CONFIRMED), (1200.0, REFUTED)])
def test_keep_alive_against_short_connections(keep, expected):
    speeds = {("short100", "http-libevent"): 1000.0, ("keep100", "http-libevent"): keep}
    assert verdict_of(found(experiment("pages", PAGE_CELLS, speeds)), "Keep-alive carries")[0] == expected


@pytest.mark.parametrize("one, expected", [(100.0, CONFIRMED), (900.0, REFUTED)])
def test_one_client_against_ten(one, expected):
    cells = [cell("short1", short=True, connections=1), cell("short10", short=True, connections=10)]
    made = experiment("pages", cells, {("short1", "libio"): one, ("short10", "libio"): 1000.0})
    assert verdict_of(found(made), "of 10 clients' pages: libio")[0] == expected


def test_the_drums_findings_stand_among_the_others():
    drum = {"findings": [{"sentence": "A drum finding.", "verdict": CONFIRMED, "figure": "7"}]}
    rows = found(drum=drum)
    assert [row["experiment"] for row in rows] == sorted(row["experiment"] for row in rows)
    assert verdict_of(rows, "A drum finding.") == (CONFIRMED, "7")


def test_the_published_tables_stand_beside_this_run():
    pages = experiment("pages", PAGE_CELLS, {("short100", "http-nginx"): 1000.0})
    short, long = classic.pages(pages)
    nginx = {row["here"]: row["values"] for row in short["table"] if "nginx" in row["contender"]}
    assert short["columns"] == [1, 10, 100, 1000]
    assert nginx[True][2] == pytest.approx(60000.0, rel=0.01) and nginx[True][0] is None
    assert nginx[False] == [1033189, 3396090, 3273879, 3311860]
    assert [row["contender"] for row in long["table"]] == ["libio", "muduo"]


def test_the_first_run_of_a_page_count_is_discarded():
    pages = experiment("pages", PAGE_CELLS, {("short100", "http-nginx"): 1000.0})
    for run in pages["runs"]:
        run["figures"]["messages_per_s"] = {0: 9e9, 1: 10.0, 2: 20.0, 3: 30.0}.get(run["block"], 9e9)
    assert classic.pages(pages)[0]["table"][0]["values"][2] == pytest.approx(20.0 * 60)


def test_every_published_row_is_complete():
    assert {row.name for row in published.REST} == {"libevent", "asio", "cppcms", "muduo", "nginx"}
    assert all(row.requests[0] <= row.requests[2] <= row.requests[1] for row in published.REST)
    assert all(len(row) == len(published.CLIENTS) for life in published.PAGES.values() for row in life.values())
    rows = classic.rest(experiment("rest", REST_CELL, {("keep200x8t", "http-nginx"): 1000.0}))
    assert [row["contender"] for row in rows if not row["here"]][:3] == ["libevent", "libevent, clang -O3", "asio"]
