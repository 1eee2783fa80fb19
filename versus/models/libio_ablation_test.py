# SPDX-License-Identifier: BSD-3-Clause
"""libio's steps: each is one change, each row runs in its own part alone, and the whole way with programs that only
pretend."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from versus import cli, comparison, fakes, made_up
from versus.findings import CONFIRMED, NOT_HERE
from versus.models import libio_ablation, model_plans, model_roster
from versus.models.libio_ablation import LIBIO, ROWS, ROWS_UNOPTIMISED, STEPS

LISTED = {row.name: row for row in made_up.model_contenders()}


def test_each_step_changes_one_thing():
    for before, after in zip(STEPS, STEPS[1:]):
        assert sum(mine != other for mine, other in zip(before.options, after.options)) == 1
    for words in libio_ablation.WITHOUT.values():
        assert sum(mine != other for mine, other in zip(words, STEPS[-1].options)) == 1
    assert STEPS[-1].row == LIBIO, "the last is the model as it is"


def test_every_row_is_listed_with_the_options_it_is_named_for():
    told = {step.row: step.options for step in STEPS} | libio_ablation.WITHOUT
    assert set(told) == set(ROWS)
    for name in ROWS:
        words = LISTED[name].words("h", 1, 1)
        assert words[-6:] == list(told[name]), name


def test_a_model_without_the_options_has_no_such_rows():
    old = {"name": LIBIO, "historic": "", "family": "libio", "line": "", "serves": "many", "processes": False,
           "times_out": True, "options": ["--queues"]}
    assert model_roster.rows_of([old], Path("peal")) == []


def test_the_unoptimised_rows_are_the_same_of_another_program():
    found = libio_ablation.unoptimised([LISTED[name] for name in ROWS], "other/peal")
    assert tuple(row.name for row in found) == ROWS_UNOPTIMISED
    for step, row in zip(STEPS, found):
        assert row.command == ("other/peal", *LISTED[step.row].command[1:]) and "-O0" in row.note
        assert row.for_cell(model_plans.STEPS_LOAD)("h", 1)[0] == "other/peal"


def runs_of(speeds, blocks=8):
    """Runs of rows of whom the speed is known; every other block is twice as fast for all."""
    return [{"cell": "a", "mode": "closed", "contender": name, "block": block, "status": "ok",
             "figures": {"messages_per_s": speed * (1 + block % 2), "server_cpu_ns": 1e9 / speed}}
            for name, speed in speeds.items() for block in range(blocks)]


def test_a_step_is_held_against_the_one_before_in_each_restart():
    speeds = dict(zip((*ROWS_UNOPTIMISED, LIBIO), (1000.0, 1100.0, 1210.0, 1331.0, 2662.0)))
    found = libio_ablation.as_published({"cells": [{"name": "a"}], "runs": runs_of(speeds)})
    assert [point.step for point in found] == ["naive", "own queues", "register only", "pooled", "-O2"]
    assert not found[0].speed_gain.known and found[-1].speed_gain.ratio == pytest.approx(2.0)
    assert all(point.speed_gain.ratio == pytest.approx(1.1) for point in found[1:-1])
    assert all(point.speed_gain.low == pytest.approx(point.speed_gain.high) for point in found[1:]), "it is paired"
    assert all(point.speed.high / point.speed.low > 1.5 for point in found), "alone they scatter"
    assert found[-1].cpu_gain.ratio == pytest.approx(0.5)


def test_a_step_that_did_not_run_is_left_out():
    speeds = {STEPS[0].row: 1000.0, STEPS[2].row: 1200.0}
    found = libio_ablation.at_o2({"cells": [{"name": "a"}], "runs": runs_of(speeds)})
    assert [point.row for point in found] == list(speeds) and found[1].speed_gain.ratio == pytest.approx(1.2)
    assert libio_ablation.as_published({"cells": [{"name": "a"}], "runs": runs_of(speeds)}) == []


def compared(folder, monkeypatch, *words):
    """`versus models` with programs that pretend, one of them "built" at -O0; its results."""
    bin_dir = fakes.make_bin(folder / "bin", ())

    def build(models, wanted, say, jobs):
        assert wanted == (libio_ablation.BUILD,) and [model.name for model in models] == [comparison.variants.PEAL]
        return [replace(models[0], name=wanted[0], command=(str(bin_dir / "peal"), "serve"))], []

    monkeypatch.setattr(comparison.variants, "build", build)
    out = folder / "out"
    assert cli.main(["models", "--bin", str(bin_dir), "--out", str(out), "--seed", "5", "--run-seconds", "0.01",
                     *words]) == cli.DONE
    return json.loads((out / "results.json").read_text()), (out / "report.html").read_text()


def test_named_it_is_played_by_duel_with_the_unoptimised_rows(tmp_path, monkeypatch):
    results, page = compared(tmp_path, monkeypatch, "--experiments", model_plans.ABLATION, "--blocks", "8")
    part = results["experiments"][0]
    assert {run["contender"] for run in part["runs"]} == {*ROWS, *ROWS_UNOPTIMISED, f"{LIBIO}-twin"}
    assert all("peal load duel" in run["commands"][0] or " load duel " in run["commands"][0] for run in part["runs"])
    assert {pair["rival"] for pair in part["pairs"]} == {*ROWS, *ROWS_UNOPTIMISED} - {LIBIO}
    verdicts = {row["sentence"]: row["verdict"] for row in results["findings"] if row["sentence"].startswith("libio")}
    assert len(verdicts) == 5 and set(verdicts.values()) == {CONFIRMED}
    assert "libio-steps" in page and "What libio's author changed" in page
    for name in (*ROWS_UNOPTIMISED, LIBIO):
        assert name in page.split('id="libio-steps"')[1].split("</details>")[0]


def test_a_quick_look_at_everything_builds_nothing(tmp_path, monkeypatch):
    quick = replace(model_plans.QUICK, experiments=(
        replace(model_plans.QUICK_GRID, cells=(model_plans.SHORT,)), model_plans.QUICK_ABLATION))
    monkeypatch.setitem(comparison.plans.BY_NAME, quick.name, quick)
    results, _ = compared(tmp_path, monkeypatch, "--blocks", "6")
    grid, part = results["experiments"]
    assert {run["contender"] for run in part["runs"]} == {*ROWS, f"{LIBIO}-twin"}
    told = {row["name"] for row in grid["contenders"] if row["name"].startswith(LIBIO)}
    assert told == {LIBIO, f"{LIBIO}+one_queue"}, "the others belong to the ablation alone"
    open_ones = [row for row in results["findings"] if "built at -O0" in row["figure"]]
    assert len(open_ones) == 2 and {row["verdict"] for row in open_ones} == {NOT_HERE}
