# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the drum's campaign: its cells, order, records, figures, findings and section of the page."""

import json
import re

import pytest

from versus import drum, drum_analysis, fakes, made_up, roster
from versus.page import drum_figures
from versus.drum import DrumCell, Drummer, DrumPlan
from versus.run.store import Store

# Prints the JSON of a drum. A round has `loop` nanoseconds, and twice as many with registering.
PROGRAM = """#!/usr/bin/python3 -ISE
import json, sys
words = sys.argv[1:]
pairs, active, writes, rounds = (int(words[words.index(name) + 1]) for name in ("-n", "-a", "-w", "--rounds"))
timed = "--timeouts" in words
loop = %d * pairs * (1 + timed)
each = [{"total_ns": 2 * loop + number, "loop_ns": loop, "waits": 2, "events": active + writes,
         "receives": active + writes} for number in range(rounds)]
each[0]["loop_ns"] = 10**9
print(json.dumps({"library": "a fake", "active": active, "writes": writes, "rounds": each}))
"""
SMALL = drum.both_ways([DrumCell(100, 10), DrumCell(1000, 10)])


def programs(tmp_path, speeds):
    drummers = []
    for name, nanoseconds in speeds.items():
        path = fakes.write_program(tmp_path / name, PROGRAM % nanoseconds)
        drummers.append(Drummer(name, (str(path),), "a fake"))
    return drummers


def recorded(speeds, cells=SMALL):
    """Returns the records that such programs would leave, without running them."""
    return made_up.drum_records(DrumPlan(cells, blocks=8, rounds=3), [Drummer(name, (name,), "") for name in speeds],
                                lambda cell, name: speeds[name] * cell.pairs * (1 + cell.timeouts))


def play(tmp_path, drummers, plan=DrumPlan(SMALL, blocks=4, rounds=3), say=lambda text: None):
    store = Store(tmp_path / "out", {"seed": 1})
    done = list(drum.records(plan, drummers, store, 1, say))
    store.close()
    return done


def test_the_classic_matrix():
    assert drum.classic_sizes()[:9] == [100, 200, 300, 400, 500, 600, 750, 1000, 2000]
    assert drum.classic_sizes()[-3:] == [60000, 75000, 100000]
    assert {cell.active for cell in drum.FULL.cells} == {100, 1000}
    assert all(cell.pairs >= cell.active and cell.writes == 100 for cell in drum.FULL.cells)
    assert {cell.timeouts for cell in drum.FULL.cells} == {False, True}
    assert len({cell.name for cell in drum.FULL.cells}) == len(drum.FULL.cells)
    assert len({(cell.pairs, cell.active) for cell in drum.QUICK.cells}) == 1


def test_a_sentence_says_where_the_fd_limit_ends_the_plan():
    plan = drum.fitting(drum.FULL, 20000)
    assert max(cell.pairs for cell in plan.cells) == 7500
    assert plan.stopped == ("Experiment 2: drum passing: stopped after 7,500 pairs: 10,000 to 100,000 pairs do not fit,"
                            " because a process may open 20,000 files here, enough for 9,984 pairs",)
    assert drum.fitting(drum.FULL, 10**6) == drum.FULL
    assert "nothing was run" in drum.fitting(drum.QUICK, 100).stopped[0]


def test_every_contender_once_per_block_and_cell_in_an_order_of_the_seed():
    drummers = [Drummer(name, ("true",), "") for name in "abcdefgh"]
    plan = DrumPlan(SMALL, blocks=8)
    tasks = drum.order(plan, 0, drummers, 42)
    assert len({(cell.name, each.name) for cell, each in tasks}) == len(tasks) == len(SMALL) * 8
    cells = [cell.name for cell, _ in tasks]
    assert cells == sorted(cells, key=cells.index), "contenders of one cell run one after the other"
    assert tasks == drum.order(plan, 0, drummers, 42)
    assert tasks != drum.order(plan, 0, drummers, 43) and tasks != drum.order(plan, 1, drummers, 42)


def test_a_contender_plays_only_where_it_can():
    select = Drummer("select", ("true",), "", most_pairs=490)
    rearm = Drummer("rearm", ("true",), "", only_with_timeouts=True)
    plan = DrumPlan(SMALL, blocks=1)
    played = {(each.name, cell.pairs, cell.timeouts) for cell, each in drum.order(plan, 0, [select, rearm], 1)}
    assert played == {("select", 100, False), ("select", 100, True), ("rearm", 100, True), ("rearm", 1000, True)}


def test_a_drummer_that_exceeds_its_time_is_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(drum, "RUN_LIMIT_S", 0.1)
    stuck = Drummer("stuck", ("/bin/sleep", "infinity"), "")
    monkeypatch.setattr(Drummer, "words", lambda self, cell, rounds: list(self.command))
    done = play(tmp_path, [stuck], DrumPlan(SMALL, blocks=2))
    assert len(done) == 1 and "did not end" in done[0]["gates"][0]["sentence"]


def test_the_first_round_is_separate():
    rounds = [{"total_ns": total, "loop_ns": loop, "waits": waits, "events": 12, "receives": 12}
              for total, loop, waits in ((999, 500, 99), (10, 4, 1), (20, 6, 2), (60, 50, 3))]
    found = drum.figures_of({"active": 2, "writes": 10, "rounds": rounds})
    assert found["first"] == {"total_ns": 999, "loop_ns": 500}
    assert found["total"] == {"mean_ns": 30, "median_ns": 20, "least_ns": 10}
    assert found["loop"] == {"mean_ns": 20, "median_ns": 6, "least_ns": 4}
    assert found["enlist"]["median_ns"] == 10
    assert found["waits"] == 2 and found["events_per_wait"] == 6


def test_a_run_that_lost_a_byte_is_refused():
    rounds = [{"total_ns": 1, "loop_ns": 1, "waits": 1, "events": 1, "receives": receives} for receives in (12, 11)]
    with pytest.raises(ValueError, match="exactly 12 bytes"):
        drum.figures_of({"active": 2, "writes": 10, "rounds": rounds})


@pytest.mark.parametrize("body, why", [
    ("echo oops >&2; exit 3", "The program failed: oops."),
    ("exit 3", "The program failed: exit code 3."),
    ("echo nonsense", "The program's output is not usable"),
    ("echo '{}'", "The program's output is not usable"),
])
def test_a_program_that_fails_leaves_an_invalid_record(tmp_path, body, why):
    path = fakes.write_program(tmp_path / "broken", f"#!/bin/sh\n{body}\n")
    record = drum.run_one(SMALL[0], Drummer("broken", (str(path),), ""), 0, 3)
    assert record["status"] == "INVALID" and record["gates"][0]["sentence"].startswith(why)
    assert "figures" not in record and not drum_analysis.usable(record)
    json.dumps(record)


def test_records_name_the_command_and_keep_every_round(tmp_path):
    done = play(tmp_path, programs(tmp_path, {"peal-epoll": 10}))
    assert len(done) == 4 * len(SMALL)
    record = next(each for each in done if each["timeouts"])
    assert record["commands"][0].endswith("-w 100 --rounds 3 --timeouts --json -")
    assert len(record["rounds"]) == 3 and record["experiment"] == "drum"


def test_an_interrupted_campaign_resumes_where_it_stopped(tmp_path):
    plan = DrumPlan(SMALL, blocks=4, rounds=3)
    drummers = programs(tmp_path, {"peal-epoll": 10, "libev": 20})
    store = Store(tmp_path / "out", {"seed": 1})
    campaign = drum.records(plan, drummers, store, 1)
    first = [next(campaign)["key"] for _ in range(5)]
    store.close()
    done = [record["key"] for record in play(tmp_path, drummers, plan)]
    assert done[:5] == first and len(set(done)) == len(done) == 4 * 2 * len(SMALL)
    lines = (tmp_path / "out" / "runs.ndjson").read_text().splitlines()
    assert len(lines) == len(done), "finished runs are not repeated"


def test_a_budget_that_is_used_up_leaves_whole_blocks_out(tmp_path):
    said = []
    plan = DrumPlan(SMALL, blocks=8, rounds=3, budget_s=0.0)
    done = play(tmp_path, programs(tmp_path, {"libev": 20}), plan, said.append)
    assert {record["block"] for record in done} == {0}
    assert said == ["Experiment 2: drum passing: the budget is used up after 1 of 8 blocks"]


def test_rows_hold_the_medians_over_the_blocks(tmp_path):
    rows = drum_analysis.rows(play(tmp_path, programs(tmp_path, {"peal-epoll": 10, "libev": 20})))
    assert len(rows) == len(SMALL) * 2
    row = next(r for r in rows if r["contender"] == "libev" and r["pairs"] == 1000 and r["timeouts"])
    assert row["loop_median_us"] == 40 and row["loop_mean_us"] == 40 and row["loop_first_us"] == 10**6
    assert row["total_least_us"] == pytest.approx(80.001)
    assert row["waits"] == 2 and row["events_per_wait"] == 55 and row["runs"] == 4


def verdicts(found):
    return {finding["claim"]: finding["verdict"] for finding in found}


def test_findings_follow_the_figures():
    done = recorded({"peal-epoll": 10, "libev": 20, "libevent": 50})
    found = verdicts(drum_analysis.findings(done))
    for part in ("total", "loop"):
        for timed in ("with idle timeouts", "without timeouts"):
            assert found[f"libev is faster than libevent: {part} time, {timed}"] == "confirmed"
            assert found[f"libevent takes 2 to 3 times as long as libev: {part} time, {timed}"] == "confirmed"
    assert found["libevent's time grows with the size of the ring as libev's does"] == "confirmed"


def test_findings_are_refuted_by_opposite_figures():
    done = recorded({"libev": 50, "libevent": 20})
    found = verdicts(drum_analysis.findings(done))
    assert found["libev is faster than libevent: loop time, without timeouts"] == "refuted"
    assert found["libevent takes 2 to 3 times as long as libev: total time, with idle timeouts"] == "refuted"


@pytest.mark.parametrize("muduo, faster, registers", [(20, "confirmed", "refuted"), (80, "refuted", "confirmed")])
def test_the_drums_own_article_is_held_against_muduo_or_peal_in_its_place(muduo, faster, registers):
    """In a made-up run registering takes half as long as the loop, so the two findings come out opposite."""
    for name, place, who in (("muduo", "", "muduo"), ("peal-epoll", "In muduo's place, peal on epoll: ", "peal")):
        done = recorded({name: muduo, "libevent": 40})
        found = {finding["claim"]: finding for finding in drum_analysis.findings(done)}
        handles = next(f for claim, f in found.items() if claim.startswith(f"{place}{who} handles"))
        assert handles["verdict"] == faster and "Chen Shuo" in handles["source"]
        assert f"loop, libevent / {name}" in handles["figure"] and "1 rings" in handles["figure"]
        told = next(f["verdict"] for claim, f in found.items() if claim.startswith(f"{place}libevent registers"))
        assert told == registers


def test_every_finding_has_a_source_and_a_figure_even_without_runs():
    found = drum_analysis.findings([])
    assert len(found) == 15
    for finding in found:
        assert finding["verdict"] == "not measurable here" and finding["figure"] and finding["source"]
        assert finding["sentence"] == f"{finding['claim']} ({finding['source']})"


def test_no_verdict_on_growth_with_only_one_ring():
    done = recorded({"libev": 20, "libevent": 50}, drum.both_ways([DrumCell(100, 10)]))
    growth = next(f for f in drum_analysis.findings(done) if "grows" in f["claim"])
    assert growth["verdict"] == "not measurable here" and "belong to the full lab" in growth["figure"]


def test_a_drummer_can_be_given_on_the_command_line(tmp_path, monkeypatch):
    rival, = programs(tmp_path, {"muduo": 30})
    given = drum.given(tmp_path, [f"drum:muduo={rival.command[0]}", "muduo=./serve {port}", "drum:gone=/nowhere/it x"])
    assert [drummer.name for drummer in given] == ["muduo", "gone"]
    assert given[1].command == ("/nowhere/it", "x")
    found = results_of(tmp_path, monkeypatch, DrumPlan(SMALL, blocks=4, rounds=3), given)
    assert {row["contender"] for row in found["rows"]} >= {"muduo", "peal-epoll"}
    ratios = {pair["cell"]: pair["ratio"] for pair in found["pairs"]
              if (pair["rival"], pair["part"]) == ("muduo", "loop")}
    assert ratios == {cell.name: pytest.approx(1 / 3) for cell in SMALL}
    assert "Experiment 2: drum passing, gone: /nowhere/it is not there" in found["left_out"]
    assert drum_analysis.by_block(found["runs"], "muduo", "loop", cell=SMALL[0].name)[0] == 30 * SMALL[0].pairs
    assert drum_figures.section(found).count(">muduo<") >= 2


@pytest.mark.parametrize("texts, why", [
    (["drum:libev=./mine"], "two drummers named 'libev'"),
    (["drum:mine=./a", "drum:mine=./b"], "two drummers named 'mine'"),
    (["drum:mine=./a --port {port}"], "contains {port}, but a drum listens nowhere"),
    (["drum:mine=./a 'b"], "cannot parse the command"),
])
def test_a_malformed_drummer_is_refused(tmp_path, texts, why):
    with pytest.raises(roster.BadContender, match=re.escape(why)):
        drum.given(tmp_path, texts)


def test_a_drummer_without_idle_timers_is_left_out_of_those_cells(tmp_path, monkeypatch):
    able, = programs(tmp_path, {"able": 30})
    path = fakes.write_program(tmp_path / "untimed", "#!/bin/sh\ncase \"$*\" in *--timeouts*) exit 77 ;; esac\n"
                                                     f'exec {able.command[0]} "$@"\n')
    mine = drum.given(tmp_path, [f"drum:mine={path}"])
    found = results_of(tmp_path, monkeypatch, DrumPlan(SMALL, blocks=2, rounds=3), mine)
    assert {row["timeouts"] for row in found["rows"] if row["contender"] == "mine"} == {False}
    sentence = "Experiment 2: drum passing, mine: it does not support idle timers (exit code 77)"
    assert found["left_out"].count(sentence) == 1
    assert {run["status"] for run in found["runs"] if run["contender"] == "mine" and run["timeouts"]} == {"SKIPPED"}
    assert "mine" in drum_figures.section(found)
    path.write_text("#!/bin/sh\nexit 77\n")
    assert drum.run_one(SMALL[0], Drummer("mine", (str(path),), ""), 0, 3)["status"] == "INVALID", "no timers here"


def results_of(tmp_path, monkeypatch, plan, others=()):
    drummers = programs(tmp_path, {"peal-epoll": 10, "libev": 20, "libevent": 50, "peal-epoll-rearm": 11})
    monkeypatch.setattr(drum, "built_in", lambda bin_dir: [*drummers, Drummer("gone", ("/nowhere/gone",), "not there")])
    store = Store(tmp_path / "out", {"seed": 1})
    found = drum.run(plan, tmp_path, store, 1, say=lambda text: None, fd_limit=20000,
                     others=list(others))
    store.close()
    return json.loads(json.dumps(found))


@pytest.mark.parametrize("sizes", [(1000,), (100, 1000, 100000)])
def test_the_section_shows_four_panels_and_their_tables(tmp_path, monkeypatch, sizes):
    plan = DrumPlan(drum.both_ways([DrumCell(n, 10) for n in sizes]), blocks=1, rounds=3)
    results = results_of(tmp_path, monkeypatch, plan)
    html = drum_figures.section(results)
    assert html.count("<svg") == 1
    for part, timeouts in drum_figures.PANELS:
        title = drum_figures.panel_title(part, timeouts)
        assert len(re.findall(title, html)) >= 2, f"{title} is a panel and a table"
    assert "gone: /nowhere/gone is not there" in html
    assert ("stopped after 1,000 pairs" in html) == (100000 in sizes)
    assert "nan" not in html.lower().replace("nanosecond", "") and "#0001" not in html


def test_a_panel_and_its_table_agree():
    rows = drum_analysis.rows(recorded({"peal-epoll": 10, "libev": 20}))
    shown = drum_figures.panel_rows(rows, 10, "loop", True)
    table = drum_figures.panel_table(rows, 10, "loop", True)
    assert table["columns"] == [100, 1000]
    assert {(row["contender"], at): value for row in table["rows"] for at, value in zip(table["columns"], row["values"])
            } == {(row["contender"], row["at"]): row["value"] for row in shown}


def test_a_section_without_a_usable_run_says_so():
    empty = {"rounds": 25, "blocks": 0, "left_out": [], "rows": [], "pairs": [], "cells": [], "runs": [],
             "contenders": []}
    assert "No usable run." in drum_figures.section(empty)
