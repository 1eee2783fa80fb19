# SPDX-License-Identifier: BSD-3-Clause
"""Tests of bars that duels decide: rows of made-up duels, and the whole way with fake programs."""

import random

import pytest

from versus import fakes, made_up, roster
from versus.bars import common, duel_bar, generator_cost, http_attack, http_serve
from versus.bars.common import CannotMeasure, Context, Marred
from versus.bars.duel_bar import Bar
from versus.built_programs import built
from versus.duel import duel_fakes
from versus.duel.duel_figures import RATE
from versus.duel.duel_runner import DuelLoad, Player

LOAD = DuelLoad("x", "64 B, 100 connections", "pingpong", ())
BARE = f"""#!{fakes.PYTHON} -ISE
print('{{"client_cpu_ns_per_message": 1000.0}}')
"""


def played(**more):
    return duel_fakes.duel(LOAD, ("raw-epoll", "peal-epoll", "libevent"), **more)


def context(tmp_path, names=("raw_epoll",), blocks=2) -> Context:
    return Context(fakes.make_bin(tmp_path / "bin", names), tmp_path / "out", 1, blocks, False, [])


@pytest.mark.parametrize("bar, verdict", [
    (Bar("peal-epoll", "raw-epoll", 1.05), "met"),
    (Bar("libevent", "raw-epoll", 1.05), "not met"),
    (Bar("libevent", "raw-epoll", 1.05, at_least=True), "met"),
    (Bar("peal-epoll", "libevent", 1.3, at_least=True, metric=RATE), "met"),
    (Bar("peal-epoll", "raw-epoll", 3300 / 3400), "at the bar"),
])
def test_a_bar_is_decided(bar, verdict):
    assert duel_bar.verdict(played(), bar) == verdict


def test_no_verdict_if_the_same_program_differs_from_itself():
    duel = played()
    duel.found["twins"][0]["verdict"] = "more"
    row = duel_bar.row(duel, Bar("peal-epoll", "raw-epoll", 1.05))
    assert row.verdict == "cannot tell" and row.measured.endswith("; the same program differs from itself")


def test_a_row_says_what_was_measured():
    row = duel_bar.row(played(), Bar("peal-epoll", "raw-epoll", 1.05), beside=("libevent",))
    assert row.figure == "server CPU per message, peal-epoll / raw-epoll, 64 B, 100 connections"
    assert row.bar == "<= 1.05"
    assert "3.300 / 3.400 us; libevent 5.000; A/A 1." in row.measured.replace("A/A 0.99", "A/A 1.")
    assert len(row.data["logs"]) == 16 and row.data["command"]


def test_a_row_says_that_the_generator_limited_a_rate():
    duel = played()
    duel.found["contenders"][1]["bounded"] = True
    row = duel_bar.row(duel, Bar("peal-epoll", "libevent", 1.3, True, RATE), "request")
    assert row.figure.startswith("requests/s") and "the generator was full before peal-epoll" in row.measured
    assert row.verdict == "met"  # without that limit, the ratio would be even larger
    duel.found["contenders"][2]["bounded"] = True
    assert duel_bar.row(duel, Bar("peal-epoll", "libevent", 1.3, True, RATE), "request").verdict == "cannot tell"


def test_a_contender_that_did_not_play_has_a_row_that_says_why():
    bars = (Bar("peal-epoll", "raw-epoll", 1.05), Bar("peal-uring", "raw-epoll", 1.05), Bar("libuv", "libevent", 1.0))
    duel = played()
    duel.left_out = ["64 B, 100 connections: libuv: it ended"]
    rows = duel_bar.rows(duel, bars)
    assert [(row.verdict, row.measured) for row in rows[1:]] == [
        ("not measured", "- (peal-uring did not play)"), ("not measured", "- (64 B, 100 connections: libuv: it ended)")]
    assert rows[0].verdict == "met" and rows[2].bar == "<= 1"
    beside = duel_bar.beside(duel, ("libevent", "libuv"), "raw-epoll")
    assert [(row.bar, row.verdict) for row in beside] == [("-", ""), ("-", "not measured")]


def test_a_part_that_cannot_be_measured_does_not_stop_the_others():
    def gone():
        raise CannotMeasure("nginx is not there")

    assert [row.measured for row in common.in_parts({"x": lambda: duel_bar.rows(played(), ())})] == []
    row, = common.in_parts({"p99, a / b": gone})
    assert (row.figure, row.measured, row.verdict) == ("p99, a / b", "- (nginx is not there)", "not measured")


def test_without_nginx_the_attack_on_peal_is_still_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(http_attack, "_p99_us", lambda _context, _contender, idle: (100.0 if idle else 90.0, 17.0))
    here = context(tmp_path, (), blocks=4)
    (tmp_path / "bin" / "peal").chmod(0o755)
    rows = http_attack.measure(here)
    assert [row.verdict for row in rows] == ["met", "met", "not measured"] and "nginx" in rows[2].measured


def test_a_bar_becomes_a_claim_of_the_duel():
    assert Bar("a", "b", 0.6, True).words == "cpu: a/b >= 0.6" and Bar("a", "b", 1.05, metric=RATE).words == \
        "rate: a/b <= 1.05"


def test_if_nobody_can_play_there_is_no_figure(tmp_path):
    with pytest.raises(CannotMeasure, match="no contender could play"):
        duel_bar.play(context(tmp_path), "x", LOAD, [Player("a", ("/bin/false", "{listen}"))], ())


def test_cost_ratio_has_a_bar_for_each_cell_and_engine(tmp_path, capsys):
    fakes.make_bin(tmp_path / "bin", ("raw_epoll", "raw_uring"))
    rows = made_up.bench_rows(tmp_path, "cost_ratio")
    assert len(rows) == 8 and {row["verdict"] for row in rows} == {"met"}
    assert "a duel: 64 B, 1,000 connections; raw-epoll, peal-epoll, peal-uring, raw-uring" in capsys.readouterr().err


def test_http_serve_runs_every_load(tmp_path, monkeypatch):
    ready = {name: roster.Contender(name, (name, "--listen", "{listen}"), "") for name in http_serve.NAMES}
    monkeypatch.setattr(http_serve, "contenders", lambda _context, _names: ready)
    rows = http_serve.measure(context(tmp_path))
    assert len(rows) == sum(len(load.bars) for load in http_serve.LOADS) == 9
    asked = {row.data["command"] for row in rows if "one client" in row.figure}
    assert len(asked) == 1 and "--spin auto" in asked.pop()


def test_the_generator_and_the_bare_client_take_turns(tmp_path):
    here = context(tmp_path, ("raw_epoll", "bare_client"))
    (tmp_path / "bin" / "contenders" / "bare_client").write_text(BARE, encoding="utf-8")
    rows = generator_cost.measure(here)  # in the fake generator, a message costs 900 ns
    assert [row.verdict for row in rows] == ["cannot tell", "cannot tell"]  # three restarts are too few
    assert rows[0].measured.startswith("0.900 (too few") and rows[0].measured.endswith("0.900 / 1.000 us")


def test_the_attack_in_turns_has_a_p99_of_each_server(tmp_path, monkeypatch):
    peal = built("peal")
    monkeypatch.setattr(http_attack, "TURN_S", 0.2)
    monkeypatch.setattr(http_attack, "ROUNDS", 2)
    monkeypatch.setattr(http_attack, "RATE", 200)
    monkeypatch.setattr(http_attack, "LEAST_SHARE", 0.0)  # on a busy machine the client may be slow
    command = (str(peal), "serve", "http", "--listen", "{listen}")
    both = {name: roster.Contender(name, command, "") for name in (http_attack.PEAL, http_attack.NGINX)}
    here = Context(peal.parent, tmp_path, 1, 1, False, [])
    p99s = http_attack._restart(here, both, 20, random.Random(1))
    assert set(p99s) == set(both) and min(p99s.values()) > 0
    monkeypatch.setattr(http_attack, "LEAST_SHARE", 2.0)
    with pytest.raises(Marred, match="of 200 answers/s"):
        http_attack._restart(here, both, 20, random.Random(1))
