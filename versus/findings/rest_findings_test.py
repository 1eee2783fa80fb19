# SPDX-License-Identifier: BSD-3-Clause
"""Each finding of experiment 3 comes out both ways on made-up results; so do the rules that all findings keep."""

import pytest

from versus import classic, published
from versus.findings import AT_BOUND, CONFIRMED, NOT_HERE, REFUTED
from versus.findings.made_up_findings import cell, experiment, found, verdict_of

WHERE = "keep200x8t"
REST_CELL = [cell(WHERE, threads=8)]


def rest(speeds, **more):
    return experiment("rest", REST_CELL, {(WHERE, name): speed for name, speed in speeds.items()}, **more)


@pytest.mark.parametrize("nginx, expected", [(1.02, CONFIRMED), (1.5, REFUTED), (1.1, AT_BOUND)])
def test_level_means_within_a_tenth(nginx, expected):
    rows = found(rest({"http-nginx": 1000.0 * nginx, "http-libevent": 1000.0}))
    assert verdict_of(rows, "nginx and libevent are level")[0] == expected


def test_too_few_blocks_judge_nothing():
    made = rest({"http-nginx": 1000.0, "http-libevent": 1000.0})
    made["runs"] = [run for run in made["runs"] if run["block"] < 5]
    verdict, figure = verdict_of(found(made), "nginx and libevent are level")
    assert verdict == NOT_HERE and "5 blocks: too few, 6 are needed" in figure


def test_where_a_program_differs_from_itself_nothing_is_judged():
    noise = [{"cell": WHERE, "metric": "speed", "differs": True}]
    speeds = {"http-nginx": 1500.0, "http-libevent": 1000.0}
    verdict, figure = verdict_of(found(rest(speeds, noise=noise)), "nginx and libevent are level")
    assert verdict == NOT_HERE and figure.endswith("the same program differs from itself there")
    noise[0]["metric"] = "server_cpu"
    assert verdict_of(found(rest(speeds, noise=noise)), "nginx and libevent are level")[0] == REFUTED


@pytest.mark.parametrize("nginx, full, cost, expected", [
    (1500.0, "http-nginx", 1.5, REFUTED),  # it may be faster still: the throughput judges
    (1500.0, "http-libevent", 1.5, REFUTED), (1500.0, "http-libevent", 1.0, CONFIRMED),
    (600.0, "http-nginx", 1.0, CONFIRMED), (1000.0, "http-nginx", 2.0, REFUTED)])
def test_where_the_generator_was_full_the_servers_cpu_judges(nginx, full, cost, expected):
    """`cost`: how many times nginx's CPU a request costs libevent."""
    made = rest({"http-nginx": nginx, "http-libevent": 1000.0},
                costs_ns={(WHERE, "http-nginx"): 1000.0, (WHERE, "http-libevent"): 1000.0 * cost})
    for row in made["saturation"]:
        row["lower_bound"] = row["contender"] == full
    verdict, figure = verdict_of(found(made), "nginx and libevent are level")
    assert verdict == expected
    assert ("server CPU, http-libevent / http-nginx" in figure) == (nginx != 1500.0 or full != "http-nginx")


@pytest.mark.parametrize("beast, expected", [(200.0, CONFIRMED), (900.0, REFUTED)])
def test_asio_far_behind(beast, expected):
    rows = found(rest({"http-beast-locked": beast, "http-libevent": 1000.0}))
    verdict, figure = verdict_of(rows, "asio answers less than half")
    assert verdict == expected and WHERE in figure


@pytest.mark.parametrize("muduo, expected", [(2500.0, CONFIRMED), (1200.0, REFUTED)])
def test_muduo_beside_nginx(muduo, expected):
    assert verdict_of(found(rest({"muduo": muduo, "http-nginx": 1000.0})), "muduo answers more")[0] == expected


@pytest.mark.parametrize("cppcms, expected", [(90.0, CONFIRMED), (500.0, REFUTED)])
def test_cppcms_is_held_against_the_slowest_of_the_others(cppcms, expected):
    rows = found(rest({"cppcms": cppcms, "http-beast-locked": 200.0, "http-nginx": 1000.0}))
    verdict, figure = verdict_of(rows, "cppcms is the slowest")
    assert verdict == expected and "cppcms / http-beast-locked" in figure


@pytest.mark.parametrize("idle, expected", [(True, CONFIRMED), (False, REFUTED)])
def test_a_row_that_never_saturated(idle, expected):
    made = rest({"http-beast-locked": 500.0, "http-libevent": 500.0})
    made["saturation"][0]["never_saturated"] = idle
    assert verdict_of(found(made), "never saturated the CPU")[0] == expected
    assert ("never saturated" in classic.rest(made)[0]["flag"]) == idle


def test_where_nobody_saturated_it_is_not_the_servers_doing():
    made = rest({"http-beast-locked": 500.0, "http-libevent": 500.0})
    for row in made["saturation"]:
        row["never_saturated"] = True
    assert verdict_of(found(made), "never saturated the CPU")[0] == NOT_HERE


@pytest.mark.parametrize("name, words", [("http-beast-locked", "on a loop per thread"),
                                         ("http-beast-shared", "on one loop that all threads share")])
@pytest.mark.parametrize("slower, expected", [(3.0, CONFIRMED), (1.05, REFUTED)])
def test_what_a_lock_costs_is_what_the_same_server_costs_without_it(name, words, slower, expected):
    costs = [{"cell": WHERE, "contender": name, "calls_by_name": {"futex": 0.25, "recvmsg": 1.0}}]
    rows = found(rest({"http-beast": 1000.0 * slower, name: 1000.0}, costs=costs))
    verdict, figure = verdict_of(rows, f"asio is slow because of a mutex around epoll: {words}")
    assert verdict == expected and "0.250 futex calls a request" in figure


def test_of_a_lock_nothing_is_said_where_a_program_differs_from_itself():
    noise = [{"cell": WHERE, "metric": "server_cpu", "differs": True}]
    rows = found(rest({"http-beast": 3000.0, "http-beast-locked": 1000.0}, noise=noise))
    verdict, figure = verdict_of(rows, "on a loop per thread")
    assert verdict == NOT_HERE and "differs from itself" in figure


@pytest.mark.parametrize("futexes, expected", [(2.0, CONFIRMED), (0.01, REFUTED)])
def test_cppcmss_lock_shows_as_futex_calls(futexes, expected):
    costs = [{"cell": WHERE, "contender": "cppcms", "calls_by_name": {"futex": futexes}}]
    verdict, figure = verdict_of(found(rest({"cppcms": 500.0}, costs=costs)), "cppcms is slow because of a mutex")
    assert verdict == expected and f"{futexes:.3f}" in figure


COMPILED = {"peal-epoll": 1000.0, "peal-epoll-twin": 1000.0, "asio-gcc-O2": 1000.0, "peal-epoll-gcc-O3": 1000.0,
            "peal-epoll-clang-O2": 1000.0, "asio-clang-O3": 1000.0, "asio-gcc-O2-cxx14": 1000.0}


@pytest.mark.parametrize("name, words, speed, expected", [
    ("peal-epoll-gcc-O3", "-O3 helps (here peal", 1.2, CONFIRMED),
    ("peal-epoll-gcc-O3", "-O3 helps (here peal", 0.9, REFUTED),
    ("asio-clang-O3", "-O3 helps (published for asio", 1.7, CONFIRMED),
    ("asio-clang-O3", "-O3 helps (published for asio", 0.9, REFUTED),
    ("peal-epoll-clang-O2", "g++ and clang are equal", 1.0, CONFIRMED),
    ("peal-epoll-clang-O2", "g++ and clang are equal", 1.2, REFUTED),
    ("asio-gcc-O2-cxx14", "A newer C++ standard", 0.9, CONFIRMED),
    ("asio-gcc-O2-cxx14", "A newer C++ standard", 1.1, REFUTED)])
def test_the_axis_of_compilers(name, words, speed, expected):
    speeds = {("64Bx1000", who): value * (speed if who == name else 1.0) for who, value in COMPILED.items()}
    assert verdict_of(found(experiment("compilers", [cell("64Bx1000")], speeds)), words)[0] == expected


def test_every_published_row_is_complete():
    assert {row.name for row in published.REST} == {"libevent", "asio", "cppcms", "muduo", "nginx"}
    assert all(row.requests[0] <= row.requests[2] <= row.requests[1] for row in published.REST)
    assert all(len(row) == len(published.CLIENTS) for life in published.PAGES.values() for row in life.values())
    rows = classic.rest(rest({"http-nginx": 1000.0}))
    assert [row["contender"] for row in rows if not row["here"]][:3] == ["libevent", "libevent, clang -O3", "asio"]
    assert {source.experiment for source in published.SOURCES} == {1, 2, 3, 4, 5}
