# SPDX-License-Identifier: BSD-3-Clause
"""Tests of an experiment by duels, with fake programs: what is played, which records result, and how it resumes."""

import json
import math
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest

from versus import comparison, experiment_results, fakes, roster
from versus.duel import duel_campaign, duel_fakes, duel_figures, duel_records, duel_runner
from versus.duel.duel_campaign import DuelCampaign
from versus.duel.duel_figures import CPU
from versus.duel.duel_records import Played
from versus.experiments import CLOSED, RATE, Cell, Claim, Duels, Experiment, HttpCell
from versus.gates import never_saturated
from versus.run.counters import HostDelta
from versus.run.echo_cell import EchoCell
from versus.run.store import Store

DUELS = Duels(restarts=6, rounds=3, rated_restarts=5, rated_rounds=2)
NAMES = ["raw-epoll", "libevent", "peal-epoll"]


def say_nothing(text):
    pass


def experiment(*cells, **more):
    return Experiment("pingpong", "Experiment 1", cells, more.pop("claims", ()), duels=DUELS, **more)


def campaign(folder, bin_dir, planned, store, names=NAMES, given=()):
    contenders = comparison.with_twin(planned, roster.choose(bin_dir, list(given), list(names))[0])
    return DuelCampaign(planned, contenders, bin_dir / "peal", folder / "duels", store, 3, say_nothing)


def played_into(folder, bin_dir, planned, names=NAMES, given=()):
    """Runs a campaign. Returns it and its store."""
    store = Store(folder / "out", {})
    played = campaign(folder, bin_dir, planned, store, names, given)
    played.run()
    store.close()
    return played, store


@pytest.fixture(name="bin_dir")
def make_bin(tmp_path):
    return fakes.make_bin(tmp_path / "bin")


def test_the_options_of_the_generator():
    def words(cell, mode=CLOSED, rate=0.0):
        load = duel_campaign.load_of("e", cell, DUELS, mode, rate)
        return load, " ".join(load.words)

    load, told = words(Cell(64, 100, threads=2))
    assert told == "--connections 100 --threads 2 --size 64" and (load.kind, load.server_threads) == ("pingpong", 2)
    assert (load.slice_ms, load.rounds, load.restarts) == (20, 3, 6)
    assert words(Cell(64, 1000))[0].slice_ms == 30
    load, told = words(Cell(64, 100), RATE, 5000.0)
    assert told.endswith("--rate 5000/s") and (load.slice_ms, load.rounds, load.restarts) == (500, 2, 5)
    load, told = words(HttpCell(100, 8, short=True, client_threads=4))
    assert load.kind == "http" and told.endswith("--path /collect?v=1 --requests-per-connection 1")
    assert "--threads 4" in told and load.server_threads == 8
    load, told = words(EchoCell(4096, 10, requests=40, pool=1))
    assert load.kind == "echo" and told.endswith("--size 4096 --requests-per-connection 40")


def players(count, serves=None):
    return tuple(SimpleNamespace(name=f"c{number}", serves_at_once=lambda cell: serves or cell.connections)
                 for number in range(count))


def test_players_that_do_not_fit_together_play_in_turn():
    assert duel_campaign.fit_together(Cell(64, 1000), players(14), 20_000)
    assert not duel_campaign.fit_together(Cell(64, 10_000), players(2), 20_000)
    assert duel_campaign.fit_together(EchoCell(64, 10, idle=990), players(14), 20_000)
    assert not duel_campaign.fit_together(EchoCell(64, 10, idle=9990), players(2), 20_000)
    assert not duel_campaign.fit_together(EchoCell(64, 10), players(2, serves=1), 20_000), "it serves one at a time"
    assert not duel_campaign.fit_together(Cell(64, 10), players(32), 20_000), "32 servers are too many"


def test_the_shape_of_a_duel_in_turn():
    def shape(cell, mode, turn_s, serves=None):
        load = duel_campaign.load_of("e", cell, DUELS, mode, 100.0)
        return duel_campaign.in_turn(load, cell, players(2, serves), mode, 7, turn_s)

    load = shape(Cell(64, 10), CLOSED, 2.0)
    assert (load.rounds, load.slice_ms, load.restarts, load.in_turn, load.queueing) == (4, 500, 7, True, ())
    assert load.least_s(2) == 3 * (5 * 0.5 + duel_runner.TURN_START_S)
    load = shape(Cell(64, 10), RATE, 2.0)
    assert (load.rounds, load.slice_ms) == (4, 500)
    load = shape(Cell(64, 10), RATE, 0.1)
    assert (load.rounds, load.slice_ms) == (1, 500), "shorter slices would hide queueing"
    assert shape(EchoCell(64, 10), CLOSED, 0.4, serves=1).queueing == ("c0", "c1")


def test_the_generator_is_told_which_contenders_queue(tmp_path):
    load = replace(duel_campaign.load_of("e", EchoCell(64, 100), DUELS, CLOSED), in_turn=True, queueing=("a", "gone"))
    both = [duel_runner.Player(name, (name, "{listen}")) for name in ("a", "b")]
    words = duel_runner.command("peal", load, both, [], 5.0, 1, tmp_path / "x")
    assert "--in-turn" in words and words.count("--expect-queueing") == 1
    assert words[words.index("--expect-queueing") + 1] == "a"
    words = duel_runner.command("peal", duel_campaign.load_of("e", EchoCell(64, 100, idle=9), DUELS, CLOSED), both, [],
                                5.0, 1, tmp_path / "x")
    assert "--in-turn" not in words and words[words.index("--idle-connections") + 1] == "9"


def in_turn(folder, bin_dir, planned, monkeypatch, names=NAMES, given=()):
    """Returns the campaign and its records, in a situation in which no two contenders' connections fit together."""
    monkeypatch.setattr(duel_campaign.process, "raise_fd_limit", lambda: 300)
    played, store = played_into(folder, bin_dir, planned, names, given)
    return played, [record for record in store.records if "contender" in record]


def test_a_cell_whose_connections_do_not_fit_is_played_in_turn(tmp_path, bin_dir, monkeypatch):
    planned = experiment(Cell(64, 100, modes=(CLOSED,)))
    planned = replace(planned, duels=replace(DUELS, turns=5, turn_s=0.4))
    played, records = in_turn(tmp_path, bin_dir, planned, monkeypatch)
    assert {record["block"] for record in records} == set(range(5)) and not played.left_out
    assert {record["figures"]["turn_s"] for record in records} == {0.4}
    assert all(record["figures"]["latency_hdr"] for record in records), "each restart has its own histogram"
    mine = next(record for record in records if record["contender"] == "libevent")
    assert "--in-turn" in mine["commands"][0]
    assert mine["commands"][0].count("--run") == 1 and "libevent=" in mine["commands"][0], "it must play alone"
    found = experiment_results.of(planned, played.contenders, Store(tmp_path / "out", {}), {})
    assert "One contender at a time, in 5 restarts" in found["how"] and "64 B, 100 connections: 400 ms" in found["how"]
    row = next(row for row in found["costs"] if row["contender"] == "libevent")
    assert row["switches"] == pytest.approx(0.5, rel=0.01) and row["rss_per_connection_bytes"] == pytest.approx(
        (5 << 20) / 100, rel=0.01)


def test_a_budget_shortens_the_turns_and_not_their_number(tmp_path, bin_dir, monkeypatch):
    duels = replace(DUELS, turns=5, turn_s=2.0)
    planned = replace(experiment(Cell(64, 100, modes=(CLOSED,)), budget_s=20.0), duels=duels)
    _, records = in_turn(tmp_path, bin_dir, planned, monkeypatch)
    assert {record["block"] for record in records} == set(range(5))
    # 20 s for 5 restarts of 3 contenders and the twin: 1 s per turn. Its start takes 0.25 s, 5 rounds take the rest.
    assert records[0]["figures"]["turn_s"] == pytest.approx(0.6, rel=0.02)
    long = planned.cells[0]
    assert DuelCampaign(planned, [], bin_dir / "peal", tmp_path, Store(tmp_path / "none", {}), 1, say_nothing)._turn_s(
        SimpleNamespace(least_turn_s=1.5, name=long.name), duels, 3) == 1.5, "as long as the percentiles need"


def test_a_contender_that_cannot_play_in_turn_does_not_end_the_duel(tmp_path, bin_dir, monkeypatch):
    planned = experiment(*(Cell(64, connections, modes=(CLOSED,)) for connections in (100, 101, 102)))
    played, records = in_turn(tmp_path, bin_dir, planned, monkeypatch, [*NAMES, "broken"],
                              ["broken=/bin/false {port}"])
    why = "broken: the server ended by itself: exit code 1"
    assert played.left_out == [f"64 B, 100 connections: {why}", f"64 B, 101 connections: {why}",
                               "broken: could not play 2 times; it was not tried again"]
    assert {record["contender"] for record in records} == {*NAMES, "peal-epoll-twin"}


def test_a_server_of_few_connections_is_marked_and_one_without_answers_has_no_figures():
    cell = EchoCell(64, 100)
    load = replace(duel_campaign.load_of("e", cell, DUELS, CLOSED), in_turn=True, queueing=("one",))
    duel = duel_fakes.duel(load, ("one", "all"), restarts=3, queueing=("one",), connections=100)
    at = duel.found["slice_columns"].index
    for row in duel.found["slices"]:
        if (row[at("restart")], row[at("contender")]) == (1, 0):
            row[at("messages")] = 0
    contenders = tuple(SimpleNamespace(name=name, parallel=lambda cell: 1,
                                       serves_at_once=lambda cell, serves=serves: serves)
                       for name, serves in (("one", 1), ("all", 100)))
    records = {(record["contender"], record["block"]): record
               for record in duel_records.records_of(duel, Played("e", cell, CLOSED, contenders=contenders))}
    assert records["one", 0]["figures"]["served"] == 1 and records["all", 0]["figures"]["served"] == 100
    nobody = records["one", 1]
    assert nobody["status"] == "UNSERVED" and "figures" not in nobody
    assert nobody["gates"][0]["sentence"].startswith("It serves 1 of 100 connections at a time")
    assert records["one", 2]["status"] == "ok"
    for row in duel.found["slices"]:
        row[at("messages")] *= row[at("contender")]
    duel.found["gates"] = [{"verdict": "NOISY", "sentence": "one: not a single message came back"}]
    records = duel_records.records_of(duel, Played("e", cell, CLOSED, contenders=contenders))
    assert [record["status"] for record in records if record["contender"] == "one"] == ["UNSERVED"] * 3


def test_options_set_the_length_of_duels():
    assert Duels().shaped(None, None) == Duels()
    shaped = Duels().shaped(3, 2.0)
    assert (shaped.restarts, shaped.rated_restarts, shaped.rounds, shaped.rated_rounds) == (3, 3, 100, 4)
    assert Duels().shaped(None, 0.001).rounds == 1
    long = Duels().shaped(None, 60.0)
    assert (long.rounds, long.slice_s, long.rated_rounds, long.rated_slice_s) == (1000, 0.06, 120, 0.5)
    assert duel_campaign.load_of("e", Cell(64, 10), long, CLOSED).slice_ms == 60


def test_every_contender_plays_in_every_restart_of_every_cell(tmp_path, bin_dir):
    cells = Cell(64, 10, modes=(CLOSED, RATE)), Cell(64, 100, modes=(RATE,))
    played, store = played_into(tmp_path, bin_dir, experiment(*cells))
    assert [c.name for c in played.contenders] == ["raw-epoll", "libevent", "peal-epoll", "peal-epoll-twin"]
    seen = [(r["cell"], r["mode"], r["contender"]) for r in store.records if r.get("block", -1) >= 0]
    for cell, mode, restarts in (("64Bx10", CLOSED, 6), ("64Bx10", RATE, 5), ("64Bx100", RATE, 5)):
        for name in [*NAMES, "peal-epoll-twin"]:
            assert seen.count((cell, mode, name)) == restarts
    # The rate is half of what the slowest reaches in a closed loop. If the cell has no closed loop, a calibration
    # measures it.
    rates = {record["key"]: record["rate"] for record in store.records if record["key"].startswith("rate/")}
    assert set(rates) == {"rate/pingpong/64Bx10", "rate/pingpong/64Bx100"}
    assert all(85_000 <= rate <= 115_000 for rate in rates.values())


def test_a_contender_that_fails_twice_is_not_tried_again(tmp_path, bin_dir):
    planned = experiment(*(Cell(64, connections, modes=(CLOSED,)) for connections in (1, 10, 100)))
    played, store = played_into(tmp_path, bin_dir, planned, [*NAMES, "broken"], ["broken=/bin/false {port}"])
    why = "broken: the server ended by itself: exit code 1"
    assert played.left_out == [f"64 B, 1 connection: {why}", f"64 B, 10 connections: {why}",
                               "broken: could not play 2 times; it was not tried again"]
    assert "broken" not in {record.get("contender") for record in store.records}


def test_a_campaign_resumes_where_it_was_stopped(tmp_path, bin_dir):
    planned = experiment(Cell(64, 10, modes=(CLOSED,)), Cell(64, 100, modes=(CLOSED,)))
    played_into(tmp_path, bin_dir, planned)
    path = tmp_path / "out" / "runs.ndjson"
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 2  # one line per duel
    path.write_text(lines[0] + lines[1][:200])
    played_into(tmp_path, bin_dir, planned)
    kept = path.read_text().splitlines(keepends=True)
    assert kept[0] == lines[0]
    assert [[r["key"] for r in json.loads(line)] for line in kept] == [[r["key"] for r in json.loads(line)]
                                                                      for line in lines]


def test_the_figures_of_a_restart():
    load = duel_campaign.load_of("e", Cell(64, 10), DUELS, CLOSED)
    duel = duel_fakes.duel(load, ("raw-epoll", "libevent"), restarts=3, rounds=4, scatter=0.0)
    played = Played("pingpong", Cell(64, 10), CLOSED, began=100.0)
    records = {(r["contender"], r["block"]): r for r in duel_records.records_of(duel, played)}
    assert len(records) == 3 * 3
    figures = records["libevent", 1]["figures"]
    assert figures["server_cpu_ns"] == pytest.approx(5000, rel=0.001)
    assert figures["client_cpu_ns"] == pytest.approx(3000)
    assert figures["messages_per_s"] == pytest.approx(200_000, rel=0.001)
    assert figures["mib_per_s"] == pytest.approx(200_000 * 64 / 2**20, rel=0.001)
    assert figures["server_percent"] == pytest.approx(100, rel=0.01) and figures["rounds"] == 4
    assert records["libevent", 0]["figures"]["latency_hdr"] and not figures["latency_hdr"]
    assert [records["libevent", block]["figures"]["server_rss_bytes"] - (8 << 20) for block in range(3)] == [0, 1, 2]
    assert records["libevent", 0]["started"] == 100.0 < records["libevent", 1]["started"]


def test_a_single_expensive_round_counts_in_its_restart():
    load = duel_campaign.load_of("e", Cell(64, 10), DUELS, CLOSED)
    duel = duel_fakes.duel(load, ("raw-epoll", "libevent"), restarts=1, rounds=4, scatter=0.0)
    at = duel.found["slice_columns"].index
    collects = next(row for row in duel.found["slices"] if (row[at("round")], row[at("contender")]) == (2, 1))
    collects[at("server_cpu_ns")] *= 5
    runs = {r["contender"]: r["figures"]["server_cpu_ns"]
            for r in duel_records.records_of(duel, Played("pingpong", Cell(64, 10), CLOSED))}
    assert runs["libevent"] == pytest.approx(2 * 5000, rel=0.001)
    pair = duel_figures.restart_logs(duel.found, CPU, "libevent", "raw-epoll")
    assert pair == [pytest.approx(math.log(runs["libevent"] / runs["raw-epoll"]), abs=0.001)]


def test_if_the_servers_cpu_is_unknown_it_is_0_and_the_server_does_not_count_as_idle():
    load = duel_campaign.load_of("e", Cell(64, 10), DUELS, CLOSED)
    duel = duel_fakes.duel(load, ("raw-epoll", "libevent"), restarts=2)
    for row in duel.found["slices"]:
        if row[duel.found["slice_columns"].index("contender")] == 1:
            row[duel.found["slice_columns"].index("server_cpu_ns")] = None
    records = duel_records.records_of(duel, Played("pingpong", Cell(64, 10), CLOSED))
    figures = [record["figures"] for record in records if record["contender"] == "libevent"]
    assert figures and all(each["server_cpu_ns"] == 0.0 for each in figures)
    assert not any(never_saturated(record) for record in records if record["contender"] == "libevent")


def test_foreign_load_has_a_gate_and_counts_towards_a_full_machine():
    load = duel_campaign.load_of("e", Cell(64, 10), DUELS, CLOSED)
    duel = duel_fakes.duel(load, ("raw-epoll",), restarts=1)
    for row in duel.found["slices"]:
        for column in ("server_cpu_ns", "client_cpu_ns"):
            row[duel.found["slice_columns"].index(column)] //= 4
    cores = len(os.sched_getaffinity(0))
    played = Played("pingpong", Cell(64, 10), CLOSED)
    calm, busy = (replace(duel, host=HostDelta(10.0, 0.0, 10.0 * share * cores)) for share in (0.0, 0.9))
    records = duel_records.records_of(calm, played)
    assert all(never_saturated(record) and not record["gates"] for record in records)
    records = duel_records.records_of(busy, played)
    assert not any(never_saturated(record) for record in records)
    assert [gate["name"] for gate in records[0]["gates"]] == ["foreign_load"]


def test_a_gate_stands_in_one_record_and_an_invalid_contender_has_no_figures():
    load = duel_campaign.load_of("e", Cell(64, 10), DUELS, CLOSED)
    duel = duel_fakes.duel(load, ("raw-epoll", "libevent", "libuv"), restarts=3)
    duel.found["gates"] = [{"verdict": "INVALID", "sentence": "libuv: 3 failures nobody asked for"}]
    duel.found["contenders"][1]["bounded"] = True
    for row in duel.found["slices"]:
        row[duel.found["slice_columns"].index("server_cpu_ns")] //= 2  # the server's thread was not full
    records = duel_records.records_of(duel, Played("pingpong", Cell(64, 10), CLOSED))
    voided = [record for record in records if record["contender"] == "libuv"]
    assert len(voided) == 1 and voided[0]["status"] == "INVALID" and "figures" not in voided[0]
    bounded = [record for record in records if record["contender"] == "libevent"]
    assert [record["status"] for record in bounded] == ["NOISY", "ok", "ok"]
    assert bounded[0]["gates"][0]["name"] == "generator"
    for row in duel.found["slices"]:
        row[duel.found["slice_columns"].index("server_cpu_ns")] *= 2
    records = duel_records.records_of(duel, Played("pingpong", Cell(64, 10), CLOSED))
    assert not any(record["gates"] for record in records if record["contender"] == "libevent"), "the server was full"


def test_a_claim_is_judged_on_the_rounds_that_both_played(tmp_path, bin_dir):
    planned = experiment(Cell(64, 10, modes=(CLOSED,)), claims=(Claim("peal-epoll", "libevent", "64Bx10", bar=0.9),))
    played, store = played_into(tmp_path, bin_dir, planned)
    found = experiment_results.judged([experiment_results.of(planned, played.contenders, store, {})])[0]
    claim = found["claims"][0]
    assert claim["verdict"] == "met" and claim["ratio"] == pytest.approx(3300 / 5000, rel=0.05) and claim["blocks"] == 6
    assert "By duel: at most 6 restarts of 3 rounds" in found["how"]
    row = next(row for row in found["costs"] if row["contender"] == "libevent")
    assert row["switches"] == pytest.approx(0.5, rel=0.01) and row["rss_per_connection_bytes"] is None
