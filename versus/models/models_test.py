# SPDX-License-Identifier: BSD-3-Clause
"""Tests of experiment 5 as data and as runs: its rows, its situations, the limits of models, and the whole way with
fake programs."""

import json

import pytest

from versus import cli, comparison, fakes, gates, made_up, stats, terminal
from versus.models import model_plans, model_roster
from versus.bars import model_cost
from versus.findings.judging import experiment_of
from versus.run.echo_cell import EchoCell
from versus.experiments import CLOSED, RATE, check

PLANS = (model_plans.QUICK, model_plans.FULL)
RAN = ("blocking_single", "blocking_process_per_connection", "reactor_epoll", "reactor_epoll_edge",
       "peal_callbacks+epoll", "peal_callbacks+uring")
WORDS = ("models", "--seed", "5", "--blocks", "2", "--run-seconds", "0.01", "--only", ",".join(RAN), "--experiments",
         f"{model_plans.GRID},{model_plans.CLAIMS}")


def rows(everything=True):
    return {row.name: row for row in made_up.model_contenders(everything)}


def model(name, **more):
    return {"name": name, "historic": "", "family": "f", "line": "a line", "serves": "many", "processes": False,
            "times_out": True, "options": []} | more


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_the_plans_are_consistent(plan):
    for experiment in plan.experiments:
        check(experiment)
        assert all(claim.best_of and claim.bar == 1.05 for claim in experiment.claims)
    assert not plan.drum and (plan.budget_s is None) == (plan is model_plans.FULL)


def test_the_full_plan_has_a_claim_in_every_situation_at_a_fixed_rate():
    full = model_plans.FULL_CLAIMS
    assert {claim.cell for claim in full.claims} == {cell.name for cell in full.cells}
    assert {(c.size, c.connections, c.requests, c.work, c.idle) for c in full.cells} == {
        (c.size, c.connections, c.requests, c.work, c.idle) for c in model_plans.FULL_CELLS}
    assert all(cell.modes == ((CLOSED,) if cell.connections == 1 else (RATE,)) for cell in full.cells)


def test_the_plan_has_every_published_load():
    told = {(c.client_threads, c.requests, c.size, c.connections // c.client_threads)
            for c in model_plans.FULL_HISTORIC.cells}
    assert {(1, 40, 1024, 64), (1, 40, 256, 2000), (4, 0, 512, 8000), (4, 0, 4096, 250), (4, 0, 512, 250),
            (4, 1, 4096, 250), (4, 0, 4096, 1000), (4, 0, 512, 500), (4, 1, 512, 500)} <= told


def test_a_load_above_the_fd_limit_is_reduced_and_its_title_says_so():
    cell = model_plans.MOST_LOAD.fitted(20000)
    assert cell.connections == 19872 and cell.connections % 4 == 0 and cell.name == model_plans.MOST_LOAD.name
    assert "19,872 connections" in cell.title and "published with 32,000" in cell.title
    assert "--source-addresses" in cell.generator_words()
    options = cli.parser().parse_args(["models", "--full"])
    _, left = comparison.shaped(model_plans.FULL, options, 20000)
    assert any("published with 32,000" in line for line in left)
    assert model_plans.FEW.fitted(20000) == model_plans.FEW


def test_a_new_model_appears_without_a_change_here():
    found = model_roster.rows_of([model("brand_new", options=["--workers"])], "peal")
    assert [row.name for row in found] == ["brand_new"]
    assert found[0].for_cell(EchoCell(64, 100, pool=3))("127.0.0.1", 7) == [
        "peal", "model", "run", "brand_new", "--listen", "127.0.0.1:7", "--workers", "3"]


def test_variants_need_their_option():
    with_it = model_roster.rows_of([model("main_sub_threads", options=["--wait-for-readable"])], "peal")
    assert [row.name for row in with_it] == ["main_sub_threads", "main_sub_threads+wait"]
    assert [row.name for row in model_roster.rows_of([model("main_sub_threads")], "peal")] == ["main_sub_threads"]
    one = model_roster.rows_of([model("reactor_epoll", options=["--loop-accept"])], "peal", True)
    assert [row.name for row in one] == ["reactor_epoll", "reactor_epoll+accept_one"]


def test_a_row_gets_only_options_that_its_model_has():
    words = rows()["half_sync_unbounded_queue+io"].for_cell(
        EchoCell(64, 64, work="1ms", work_kind="sleep", options=(("--workers", "1"), ("--events", "9"))))("h", 1)
    assert words[-6:] == ["--work", "1ms", "--work-kind", "sleep", "--workers", "1"] and "--events" not in words
    assert words.count("--reply-by") == 1
    peal = rows()["peal_callbacks+epoll"].for_cell(EchoCell(64, 64))("h", 1)
    assert peal.count("--workers") == 1 and peal[peal.index("--workers") + 1] == "1"


def test_a_models_limits_are_known_before_it_runs():
    table = rows()
    assert table["blocking_single"].serves_at_once(model_plans.FEW) == 1
    assert table["reactor_epoll"].serves_at_once(model_plans.FEW) == 100
    pool = model_roster.rows_of([model("blocking_pool", serves="one a worker", options=["--workers"])], "peal")[0]
    assert pool.serves_at_once(EchoCell(64, 100, pool=3)) == 3
    assert table["reactor_select"].unfit_for(EchoCell(64, 2000)).startswith("select")
    assert not table["reactor_select"].unfit_for(model_plans.MANY)
    assert "at a time" in table["blocking_single"].unfit_for(model_plans.FEW.at_a_rate())
    given = model_roster.Contender("mine", ("x", "{port}"), "", kind="model")
    assert given.unfit_for(EchoCell(64, 1, work="1ms")) and not given.unfit_for(model_plans.FEW)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """Runs a quick comparison of a few rows. Returns its folder and results."""
    folder = tmp_path_factory.mktemp("models")
    fakes.make_bin(folder / "bin", ())
    return folder, made_up.played(folder, *WORDS)


def part(campaign, name):
    return experiment_of(campaign[1], name)


def test_only_the_named_rows_and_the_twin_ran(campaign):
    ran = {run["contender"] for run in part(campaign, model_plans.GRID)["runs"]}
    assert ran == {*RAN, "peal_callbacks+epoll-twin"} - {"peal_callbacks+uring"}, "what could not play has no record"


def test_an_engine_that_cannot_run_is_reported(campaign):
    assert any("peal_callbacks+uring: the server ended by itself" in line for line in campaign[1]["left_out"])
    text = (campaign[0] / "out" / "report.html").read_text()
    assert "peal_callbacks+uring" in text
    assert all(row["contender"] != "peal_callbacks+uring" for row in part(campaign, model_plans.GRID)["rows"])


def test_a_blocking_model_is_reported_to_serve_one_connection(campaign):
    grid = part(campaign, model_plans.GRID)
    found = {row["cell"]: row for row in grid["rows"] if row["contender"] == "blocking_single"}
    assert (found["64Bx100"]["served"], found["64Bx100"]["asked"]) == (1, 100)
    assert found["64Bx100-short"]["served"] == 100
    assert all(run["status"] != gates.INVALID for run in grid["runs"] if run["contender"] == "blocking_single")
    assert "1 of 100" in (campaign[0] / "out" / "report.html").read_text()
    told = {run["contender"]: run["commands"][0] for run in grid["runs"] if run["cell"] == "64Bx100"}
    assert "--expect-queueing blocking_single" in told["blocking_single"]
    assert "--in-turn" in told["reactor_epoll"] and "--expect-queueing" not in told["reactor_epoll"]


def test_the_cpu_of_ended_children_is_unknown_if_sigchld_is_ignored(campaign):
    grid = part(campaign, model_plans.GRID)
    found = {row["cell"]: row for row in grid["rows"] if row["contender"] == "blocking_process_per_connection"}
    assert found["64Bx100-short"]["server_us"] is None and found["64Bx100-short"]["messages_per_s"] > 0
    assert found["64Bx100"]["server_us"] == pytest.approx(8.0, rel=0.05), "those children are still alive"


def test_the_claim_is_about_the_best_of_the_rivals(campaign):
    claims = part(campaign, model_plans.CLAIMS)["claims"]
    assert {claim["rival"] for claim in claims} == {"reactor_epoll"}, "4.0 against 4.4 us"
    assert all(claim["ratio"] == pytest.approx(1.01, rel=0.03) for claim in claims)
    assert all("the best of reactor_epoll, reactor_epoll_edge" in claim["sentence"] for claim in claims)


def test_the_summary_shows_every_situation(campaign):
    text = terminal.summary(campaign[1])
    assert "1/100" in text and "100/100" in text and "Verdict: " in text
    assert all(cell.title in text for cell in model_plans.QUICK_GRID.cells)


def test_a_comparison_resumes_where_it_stopped(campaign):
    out, cut = campaign[0] / "out", campaign[0] / "cut"
    lines = (out / "runs.ndjson").read_text().splitlines(keepends=True)
    cut.mkdir()
    (cut / "campaign.json").write_text((out / "campaign.json").read_text())
    (cut / "runs.ndjson").write_text("".join(lines[:-2]))
    made_up.played(campaign[0], *WORDS, out="cut")
    again = (cut / "runs.ndjson").read_text().splitlines(keepends=True)
    assert again[: len(lines) - 2] == lines[:-2] and len(again) == len(lines)


def test_claims_have_enough_restarts():
    for experiment in (model_plans.QUICK_CLAIMS, model_plans.FULL_CLAIMS):
        assert experiment.duels.rated_restarts > stats.FEWEST_BLOCKS


@pytest.mark.parametrize("words, code", [
    (["models", "--only", "nobody"], cli.CALLED_WRONGLY), (["models", "--bin", "/nowhere"], cli.FAILED)])
def test_exit_codes(words, code, capsys, tmp_path):
    assert cli.main([*words, "--out", str(tmp_path / "out")]) == code
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_program_without_models_has_none_to_run(tmp_path):
    program = fakes.write_program(tmp_path / "peal", "#!/bin/sh\nexit 2\n")
    assert model_roster.listed_by(program) == []
    assert cli.main(["models", "--bin", str(tmp_path), "--out", str(tmp_path / "out")]) == cli.FAILED


def test_the_bar_is_in_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(model_cost, "CLAIM_CELLS", model_plans.CLAIM_CELLS[:1])
    fakes.make_bin(tmp_path / "bin", ())
    found = made_up.bench_rows(tmp_path, "model_cost")
    assert [row["bar"] for row in found] == ["<= 1.05"]
    assert all("reactor_epoll" in row["figure"] and row["verdict"] != "not measured" for row in found)
