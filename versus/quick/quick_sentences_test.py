# SPDX-License-Identifier: BSD-3-Clause
"""The five sentences for what was won, lost, undecided or not measured."""

import pytest

from versus.duel import duel_fakes
from versus.duel.duel_figures import CPU, RATE
from versus.quick import quick_judge, quick_sentences
from versus.quick.quick_plan import CELLS, CLAIMS, cell_named
from versus.stats import AT_THE_BAR, CANNOT_TELL, MET, NOT_MEASURED, NOT_MET

EMPTY = {"comparisons": [], "claims": [], "cells": [], "memory": []}
NOTHING = [
    "How many messages a second peal echoes beside other libraries was not measured (64 B, 1,000 connections).",
    "What a message costs peal beside a bare epoll loop in C was not measured (64 B, 1,000 connections).",
    "What an HTTP request costs peal beside nginx was not measured.",
    "How much memory a connection takes was not measured (64 B, 1,000 connections).",
    "What peal loses is not known, because it met no other server in this run; tail latency is not measured here, but "
    "by `make lab`.",
]


def row(cell: str, metric: str, subject: str, rival: str, ratio: float, verdict: str, **more) -> dict:
    return {"cell": cell, "metric": metric, "subject": subject, "rival": rival, "ratio": ratio, "low": ratio - 0.02,
            "high": ratio + 0.03, "verdict": verdict, "why": "", "bounded": False} | more


def of(**results) -> list[str]:
    return quick_sentences.five(EMPTY | results)


def echoed(*rows: tuple) -> str:
    """Returns the sentence about throughput. A row is (rival, ratio, verdict)."""
    return of(comparisons=[row("64Bx1000", RATE, "peal-epoll", *each) for each in rows])[0]


def test_without_any_figure_each_sentence_says_what_is_missing():
    assert of() == NOTHING


def test_throughput_won_lost_and_undecided():
    assert echoed(("asio-per-thread", 1.9, "more"), ("libuv", 0.93, "less"), ("libevent", 1.01, CANNOT_TELL)) == (
        "On one core with 1,000 connections peal echoed 1.90 times as many messages a second as asio (95 % interval "
        "1.88 to 1.93), 0.93 times as many as libuv (0.91 to 0.96) and 1.01 times as many as libevent (0.99 to 1.04, "
        "undecided).")


def test_throughput_beside_libraries_that_did_not_play():
    assert echoed(("libuv", 1.5, "more")) == (
        "On one core with 1,000 connections peal echoed 1.50 times as many messages a second as libuv (95 % interval "
        "1.48 to 1.53); not measured: asio and libevent.")


def test_throughput_that_the_generator_limits_and_too_few_restarts():
    rows = [row("64Bx1000", RATE, "peal-epoll", "libuv", 1.5, "more", bounded=True),
            row("64Bx1000", RATE, "peal-epoll", "libevent", 1.5, CANNOT_TELL, low=None, high=None)]
    sentence = of(comparisons=rows)[0]
    assert "libuv (95 % interval 1.48 to 1.53, the generator was full)" in sentence
    assert "libevent (too few restarts for an interval, undecided)" in sentence


@pytest.mark.parametrize("verdict, words", [(MET, "meets"), (NOT_MET, "misses"), (AT_THE_BAR, "is at"),
                                            (CANNOT_TELL, "leaves undecided"), (NOT_MEASURED, "was not held against")])
def test_cost_and_its_bar(verdict, words):
    claim = {"cell": "64Bx1000", "subject": "peal-epoll", "rival": "raw-epoll", "bar": 1.05, "verdict": verdict}
    rows = [row("64Bx1000", CPU, "peal-epoll", "raw-epoll", 0.98, CANNOT_TELL)]
    assert of(comparisons=rows, claims=[claim])[1] == (
        f"Each message cost peal 0.98 times the server CPU of a bare epoll loop in C (0.96 to 1.01), which {words} the "
        "bar of 1.05.")


@pytest.mark.parametrize("mine, floors, words", [(None, 74.0, "."), (300.4, None, ", and 300 user instructions."),
                                                 (1300.0, 74.0, ", and 1,300 user instructions (the loop 74).")])
def test_instructions_are_named_if_they_were_counted(mine, floors, words):
    cell = {"name": "64Bx1000", "rows": [{"contender": "peal-epoll", "instructions": mine},
                                         {"contender": "raw-epoll", "instructions": floors}]}
    rows = [row("64Bx1000", CPU, "peal-epoll", "raw-epoll", 0.98, CANNOT_TELL)]
    assert of(comparisons=rows, cells=[cell])[1].endswith(f"(0.96 to 1.01, undecided){words}")


def test_http_of_both_kinds_and_of_one():
    kept = row("keep100", CPU, "http-peal-epoll", "http-nginx", 0.7, "less")
    short = row("short100", CPU, "http-peal-epoll", "http-nginx", 1.02, CANNOT_TELL)
    assert of(comparisons=[kept, short])[2] == (
        "An HTTP request took peal 0.70 times the server CPU of nginx on kept connections (0.68 to 0.73) and 1.02 "
        "times with a connection for each request (1.00 to 1.05, undecided).")
    assert of(comparisons=[short])[2] == (
        "An HTTP request took peal 1.02 times the server CPU of nginx with a connection for each request (1.00 to "
        "1.05, undecided).")


def test_memory():
    memory = [{"contender": name, "bytes": mib * 2.0**20, "bytes_per_connection": kib * 2.0**10}
              for name, mib, kib in (("peal-epoll", 8.8, 0.13), ("libuv", 2.1, 0.3), ("raw-epoll", 1.4, 0.0))]
    assert of(memory=memory)[3] == (
        "With 1,000 connections open, each cost peal about 0.1 KiB of memory (libuv 0.3), and the whole process took "
        "8.8 MiB (libuv 2.1).")
    assert of(memory=memory[:1])[3].endswith("about 0.1 KiB of memory, and the whole process took 8.8 MiB.")
    assert of(memory=memory[1:])[3] == NOTHING[3]


def test_what_was_lost_and_undecided():
    rows = [row("64Bx1000", CPU, "peal-uring", "raw-uring", 1.05, "more"),
            row("short100", CPU, "http-peal-epoll", "http-raw-epoll", 1.07, "more"),
            row("64Bx1", CPU, "peal-epoll", "libuv", 0.9, CANNOT_TELL),
            row("64Bx1", CPU, "peal-epoll", "libevent", 0.8, "less"),
            row("64Bx1", RATE, "peal-epoll", "libevent", 3.0, "more")]  # a higher rate is no loss
    assert of(comparisons=rows)[4] == (
        "Of 4 comparisons of server CPU, peal lost 2, at worst peal's HTTP server against a bare epoll loop in C "
        "(HTTP, 100 clients, a connection per request: 1.07 times, 1.05 to 1.10); 1 is undecided, and tail latency is "
        "not measured here, but by `make lab`.")


def test_a_single_loss_is_named_without_a_comparison():
    rows = [row("64Bx1", CPU, "peal-uring", "raw-uring", 1.05, "more"),
            row("64Bx1", CPU, "peal-uring", "raw-epoll", 1.01, "level")]
    assert of(comparisons=rows)[4].startswith(
        "Of 2 comparisons of server CPU, peal lost 1, peal on io_uring against a bare io_uring loop in C "
        "(echo, 64 B, 1 connection: 1.05 times, 1.03 to 1.08); none are undecided, and ")


def test_nothing_lost_and_all_decided():
    assert of(comparisons=[row("64Bx1", CPU, "peal-epoll", "libuv", 0.9, "less")])[4].startswith(
        "Of 1 comparison of server CPU, peal lost none; none are undecided, and ")


def test_long_sentences_are_broken_as_items_of_a_list(capsys):
    lines = quick_sentences.text(EMPTY, 50).splitlines()
    assert all(len(line) <= 50 and line[:2] in ("- ", "  ") for line in lines)
    assert sum(line.startswith("- ") for line in lines) == 5
    whole = [f"- {sentence}" for sentence in NOTHING]
    assert quick_sentences.text(EMPTY).splitlines() == whole, "stdout is no terminal"
    assert capsys.readouterr().out == ""


@pytest.fixture(scope="module")
def duels():
    return [duel_fakes.duel(cell.load, cell.contenders, tuple(c for c in CLAIMS if c.cell == cell.name))
            for cell in CELLS]


def test_comparisons_are_of_peal_with_all_others(duels):
    rows = quick_judge.comparisons(duels)
    pairs = {(each["cell"], each["metric"], each["subject"], each["rival"]): each for each in rows}
    assert len(pairs) == len(rows) == 2 * (3 * 2 * 5 + 2 * 1 * 3)
    assert pairs["64Bx1000", CPU, "peal-epoll", "libevent"]["verdict"] == "less"
    found = pairs["keep100", RATE, "http-peal-epoll", "http-nginx"]
    assert found["verdict"] == "more" and found["ratio"] == pytest.approx(4400 / 3350, rel=0.03)
    assert found["low"] < found["ratio"] < found["high"]


def test_a_comparison_with_an_obstacle_is_undecided():
    duel = duel_fakes.duel(cell_named("keep100").load, cell_named("keep100").contenders)
    next(each for each in duel.found["contenders"] if each["name"] == "http-peal-epoll")["bounded"] = True
    duel.found["gates"] = [{"verdict": "INVALID", "sentence": "http-libevent: 3 failures nobody asked for"}]
    rows = {(each["metric"], each["rival"]): each for each in quick_judge.comparisons([duel])}
    assert rows[CPU, "http-libevent"]["verdict"] == CANNOT_TELL
    assert rows[CPU, "http-nginx"]["verdict"] == "less"
    assert rows[RATE, "http-nginx"]["bounded"] and rows[RATE, "http-nginx"]["verdict"] == "more"


def test_memory_is_that_of_the_cell_with_many_connections(duels):
    rows = {each["contender"]: each for each in quick_judge.memory(duels)}
    assert set(rows) == set(cell_named("64Bx1000").contenders)
    # The made-up servers grow from 3 MiB to 8 MiB and some bytes, with one connection each.
    assert rows["libuv"]["bytes_per_connection"] == pytest.approx(5 * 2**20, rel=1e-3)
    assert rows["libuv"]["bytes"] == pytest.approx(8 * 2**20, rel=1e-3)
    found = next(duel for duel in duels if duel.load.name == "64Bx1000").found["contenders"][0]
    found["rss_start_by_restart"] = [0] * len(found["rss_start_by_restart"])  # as if it was never read
    assert found["name"] not in {each["contender"] for each in quick_judge.memory(duels)}
