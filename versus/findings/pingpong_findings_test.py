# SPDX-License-Identifier: BSD-3-Clause
"""Each finding of experiment 1 comes out both ways on made-up results, and says what it lacks otherwise."""

import pytest

from versus.findings import AT_BOUND, CONFIRMED, NOT_HERE, REFUTED
from versus.findings.made_up_findings import cell, experiment, found, verdict_of

LARGE = [cell("16KiBx100", size=16384), cell("16KiBx1000", size=16384)]


@pytest.mark.parametrize("muduo, expected", [(1300.0, CONFIRMED), (1100.0, REFUTED), (1150.0, AT_BOUND)])
def test_the_lead_over_asio_is_that_over_the_faster_asio(muduo, expected):
    speeds = {(c["name"], who): value for c in LARGE for who, value in
              (("muduo", muduo), ("asio-per-thread", 1000.0), ("asio-shared", 400.0))}
    rows = found(experiment("pingpong", LARGE, speeds))
    verdict, figure = verdict_of(rows, "muduo is at least 15 % ahead of asio at 16 KiB")
    assert verdict == expected and "muduo / asio-per-thread" in figure and "8 blocks" in figure and "2 loads" in figure


@pytest.mark.parametrize("muduo, expected", [(2000.0, CONFIRMED), (1100.0, REFUTED)])
def test_the_lead_over_libevent_at_16_kib_is_that_of_a_single_case(muduo, expected):
    speeds = {("16KiBx100", "muduo"): muduo, ("16KiBx100", "libevent"): 1000.0,
              ("16KiBx1000", "muduo"): 1000.0, ("16KiBx1000", "libevent"): 1000.0}
    rows = found(experiment("pingpong", LARGE, speeds))
    verdict, figure = verdict_of(rows, "muduo is up to 70 % ahead of libevent at 16 KiB")
    assert verdict == expected and "16KiBx100" in figure
    assert verdict_of(rows, "muduo is at least 15 % ahead of asio")[0] == NOT_HERE, "asio did not run"


def test_libevent_is_held_to_the_loads_of_one_thread():
    cells = [cell("4KiBx100", size=4096), cell("4KiBx100x4t", size=4096, threads=4)]
    speeds = {("4KiBx100", "muduo"): 1300.0, ("4KiBx100", "libevent"): 1000.0,
              ("4KiBx100x4t", "muduo"): 100.0, ("4KiBx100x4t", "libevent"): 1000.0}
    verdict, figure = verdict_of(found(experiment("pingpong", cells, speeds)), "at least 18 % ahead of libevent at 4")
    assert verdict == CONFIRMED and "1 loads" in figure


def test_in_muduos_place_stands_peal():
    speeds = {(c["name"], who): value for c in LARGE for who, value in
              (("peal-epoll", 1300.0), ("asio-per-thread", 1000.0), ("asio-shared", 400.0), ("libevent", 200.0))}
    rows = found(experiment("pingpong", LARGE, speeds))
    assert verdict_of(rows, "In muduo's place, peal on epoll: at least 15 %")[0] == CONFIRMED
    assert verdict_of(rows, "In muduo's place, peal on epoll: up to 70 %")[0] == CONFIRMED
    assert "--contender 'muduo=COMMAND'" in verdict_of(rows, "muduo is at least 15 %")[1]


@pytest.mark.parametrize("own, expected", [(1300.0, CONFIRMED), (800.0, REFUTED)])
def test_an_asio_loop_per_cpu_against_one_for_all(own, expected):
    cells = [cell("16KiBx100", size=16384), cell("16KiBx100x2t", size=16384, threads=2)]
    speeds = {("16KiBx100", "asio-per-thread"): 9.0, ("16KiBx100", "asio-shared"): 1000.0,
              ("16KiBx100x2t", "asio-per-thread"): own, ("16KiBx100x2t", "asio-shared"): 1000.0}
    verdict, figure = verdict_of(found(experiment("pingpong", cells, speeds)), "io_context per CPU")
    assert verdict == expected and "1 loads" in figure


@pytest.mark.parametrize("libevent, muduo, expected", [
    (4.02, 1.0, CONFIRMED), (1.0, 1.0, REFUTED), (4.0, 4.0, REFUTED), (4.0, None, CONFIRMED), (None, 1.0, NOT_HERE)])
def test_short_reads_are_seen_in_the_system_calls(libevent, muduo, expected):
    calls = {name: {"readv": reads, "write": 1.0} for name, reads in (("libevent", libevent), ("muduo", muduo))
             if reads is not None}
    costs = [{"cell": "16KiBx100", "contender": name, "calls_by_name": by_name} for name, by_name in calls.items()]
    made = experiment("pingpong", LARGE, {("16KiBx100", name): 1000.0 for name in calls}, costs=costs)
    assert verdict_of(found(made), "at most 4,096 bytes")[0] == expected


def test_without_a_run_every_finding_says_what_it_lacks():
    rows = found()
    assert {row["verdict"] for row in rows} == {NOT_HERE} and all(row["figure"] for row in rows)
    assert "scripts/rivals" in verdict_of(rows, "muduo is at least 15 %")[1]
    assert "--contender 'drum:muduo=COMMAND'" in verdict_of(rows, "libevent registers")[1]
