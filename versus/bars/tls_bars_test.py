# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the figures over TLS: with the real bare loop if it is built, and with made-up counts."""

import shutil

import pytest

from versus import fakes, traces
from versus.bars import bench, tls_burst, tls_common, tls_cost, tls_instructions, tls_memory
from versus.bars.common import CannotMeasure, Context
from versus.built_programs import bars_of
from versus.roster import TLS
from versus.tls.tls_plans import FLOOR, OURS

NAMES = ("raw_tls", "https_raw", "http_nginx", "bare_tls_client", "bare_handshakes")
BARE = f"""#!{fakes.PYTHON} -ISE
import sys
words = sys.argv[1:]
print('{{"server_cpu_ns_per_message": 1000.0}}')
"""


def pretended(tmp_path, blocks=2) -> Context:
    """Returns a context in which every program exists and does nothing."""
    here = Context(fakes.make_bin(tmp_path / "bin", NAMES), tmp_path / "out", 1, blocks, False, [])
    for name in ("bare_tls_client", "bare_handshakes"):
        (tmp_path / "bin" / "contenders" / name).write_text(BARE, encoding="utf-8")
    return here


@pytest.fixture(name="built")
def make_built(tmp_path) -> Context:
    """Returns a context that has only the bare loop, as it was built."""
    return bars_of(tmp_path, 4, "raw_tls", "raw_tls_gather", "bare_tls_client", "bare_handshakes")


def floor_of(context: Context, name: str = FLOOR):
    return next(each for each in tls_common.contenders(context, TLS, (name,)) if each.name == name)


def test_the_bare_loop_answers_sixteen_records_in_sixteen_writes_but_gathered_in_one(built):
    if not traces.available():
        pytest.skip("strace is not installed")
    assert tls_burst.sends_per_burst(built, floor_of(built), bursts=20) == 16
    assert tls_burst.sends_per_burst(built, floor_of(built, "raw-tls-gather"), bursts=20) == 1


def test_an_idle_connection_of_the_bare_loop_has_its_size(built):
    value = tls_memory.per_connection(built, floor_of(built), connections=100)
    assert 5_000 < value < 40_000


@pytest.mark.parametrize("figure, least, most", [("64-byte echo", 8_000, 25_000),
                                                 ("full handshake, one ticket", 1_500_000, 5_000_000)])
def test_instructions_are_the_difference_of_two_counts(built, figure, least, most):
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    counted = next(each for each in tls_instructions.FIGURES if each.what == figure)
    value = tls_common.slope(built, floor_of(built), counted.program, counted.run(5), counted.run(15))
    assert least < value < most


def test_the_client_is_told_whether_to_resume_handshakes():
    full, resumed = (next(each for each in tls_instructions.FIGURES if each.what.startswith(words))
                     for words in ("full", "resumed"))
    assert full.run(9) == {"resume": 0, "handshakes": 9} and resumed.run(9) == {"resume": 1, "handshakes": 9}


def test_figures_of_peal_have_bars_and_those_of_the_floor_have_none(tmp_path, monkeypatch):
    counts = {"64-byte echo": 14_900, "16 KiB echo": 104_001}
    monkeypatch.setattr(tls_common, "slope", lambda _context, _contender, _program, few, _many: counts.get(
        {64: "64-byte echo", 16384: "16 KiB echo"}.get(few.get("size")), 1_000_000))
    rows = {row.figure: row for row in tls_instructions.measure(pretended(tmp_path))}
    echo = "user instructions per {} over TLS, {}"
    assert rows[echo.format("64-byte echo", OURS)].verdict == "met"
    assert rows[echo.format("64-byte echo", OURS)].bar == "<= 14,900"
    assert rows[echo.format("16 KiB echo", OURS)].verdict == "not met"
    assert (rows[echo.format("16 KiB echo", FLOOR)].bar, rows[echo.format("16 KiB echo", FLOOR)].verdict) == ("-", "")
    assert rows[echo.format("full handshake, one ticket", "https-peal-epoll")].verdict == "met"
    assert rows[echo.format("keep-alive GET with four fields", "https-peal-epoll")].verdict == "not met"


def test_if_the_client_fails_there_is_no_figure(tmp_path):
    here = pretended(tmp_path)
    client = tmp_path / "bin" / "contenders" / "bare_tls_client"
    client.write_text("#!/bin/sh\necho 'the handshake: no' >&2; exit 1\n", encoding="utf-8")
    with pytest.raises(CannotMeasure, match="the handshake: no"):
        tls_memory.per_connection(here, floor_of(here))


def test_each_cost_over_tls_is_a_bar_of_a_duel(tmp_path):
    rows = tls_cost.measure(pretended(tmp_path))
    assert len(rows) == len(tls_cost.ASKED) == 6
    verdicts = {row.figure.split(", ", 1)[1]: (row.bar, row.verdict) for row in rows}
    assert verdicts["peal-tls-epoll / raw-tls, 64 KiB, 100 connections"] == ("<= 1.05", "met")
    assert verdicts["https-peal-epoll / https-raw, 16 clients, a download of 1 MiB"] == ("<= 1.05", "not met")
    assert verdicts["https-peal-epoll / https-nginx, 100 clients, keep-alive"] == ("<= 0.75", "met")
    commands = {row.data["command"] for row in rows if "download" in row.figure}
    assert all("--root" in words and "--path /one-mib.bin" in words for words in commands)


def test_bursts_have_rows_for_sends_and_for_cpu(tmp_path, monkeypatch):
    monkeypatch.setattr(tls_burst, "sends_per_burst", lambda _context, contender: 1.0 if contender.name == OURS else 16)
    rows = tls_burst.measure(pretended(tmp_path, blocks=4))
    assert [(row.bar, row.verdict) for row in rows[:2]] in ([("1", "met"), ("-", "")], [("-", ""), ("1", "met")])
    assert rows[2].measured.startswith("1.000") and rows[2].bar == "<= 0.5" and rows[2].verdict != "met"


def test_the_bench_has_the_figures():
    assert {"tls_cost", "tls_instructions", "tls_burst", "tls_memory"} <= set(bench.names())
