# SPDX-License-Identifier: BSD-3-Clause
"""Shuffled blocks, the fixed rate, and the arithmetic of the budget; the plans can do what they declare."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from versus import comparison, experiments, made_up, plans
from versus.models import model_plans
from versus.run import schedule
from versus.experiments import CLOSED, RATE, Cell, HttpCell

NAMES = [f"contender-{number}" for number in range(9)]
PINGPONG = made_up.PINGPONG
ONE_CELL = replace(PINGPONG, cells=PINGPONG.cells[:1])
EVERY_EXPERIMENT = [experiment for plan in plans.BY_NAME.values() for experiment in plan.experiments]


def orders(seed):
    return [[task.contender for task in schedule.block_tasks(ONE_CELL, block, NAMES, seed)] for block in range(8)]


@pytest.mark.parametrize("block", range(8))
def test_every_contender_runs_once_per_block_and_cell(block):
    tasks = schedule.block_tasks(PINGPONG, block, NAMES, 42)
    assert len(tasks) == len(NAMES) * len(PINGPONG.cells)
    assert {(task.cell.name, task.contender) for task in tasks} == {(c.name, n) for c in PINGPONG.cells for n in NAMES}
    assert len({task.key for task in tasks}) == len(tasks)


def test_what_is_compared_runs_side_by_side():
    cells = [task.cell.name for task in schedule.block_tasks(PINGPONG, 0, NAMES, 42)]
    assert cells == sorted(cells, key=cells.index)


def test_the_seed_fixes_the_order_and_blocks_differ():
    assert orders(42) == orders(42) and orders(42) != orders(43)
    assert len({tuple(order) for order in orders(42)}) == 8


def test_no_place_in_the_order_belongs_to_one_contender():
    first = [schedule.block_tasks(ONE_CELL, block, NAMES, 1)[0].contender for block in range(900)]
    assert all(60 <= first.count(name) <= 140 for name in NAMES)


def test_two_experiments_never_share_a_key():
    cell = HttpCell(100)
    keys = [schedule.block_tasks(replace(made_up.REST, name=name, cells=(cell,)), 0, ["x"], 1)[0].key
            for name in ("rest", "pages")]
    assert len(set(keys)) == 2


def test_who_is_too_slow_for_a_cell_stays_out_of_it():
    cells = (HttpCell(10), HttpCell(10, short=True, modes=(RATE,), without=("contender-0",)))
    experiment = replace(made_up.REST, cells=cells)
    tasks = schedule.block_tasks(experiment, 0, NAMES, 1)
    assert len(tasks) == 9 + 8 and schedule.run_count(experiment, NAMES) == experiment.blocks * 17
    assert all(task.contender != "contender-0" for task in tasks if task.cell.short)
    assert schedule.calibration_count(experiment, NAMES) == experiment.calibration_rounds * 8


def test_calibration_is_closed_loop_where_a_rate_is_needed():
    tasks = schedule.calibration_tasks(PINGPONG, 1, NAMES, 42)
    assert {task.mode for task in tasks} == {CLOSED} and {task.block for task in tasks} == {-1}
    assert {task.cell.name for task in tasks} == {cell.name for cell in PINGPONG.cells if RATE in cell.modes}


def test_the_rate_is_half_of_the_slowest_ones_best():
    assert schedule.fixed_rate({"fast": [90000.0, 100000.0], "slow": [41000.0, 40000.0], "gone": []}) == 20000.0
    assert schedule.fixed_rate({"tiny": [7.0]}) == 3.0


def test_a_budget_is_shared_out_and_what_is_left_over_goes_on():
    assert schedule.share_of(100.0, 0.6, 0.4) == pytest.approx(60.0)
    assert schedule.share_of(70.0, 0.3, 0.1) == pytest.approx(52.5)  # the first left 30 over
    assert schedule.share_of(50.0, 0.1, 0.0) == pytest.approx(50.0)


def test_a_plan_fits_its_budget():
    assert made_up.SMALL.budget_s < 300
    shares = [experiment.share for experiment in made_up.SMALL.experiments] + [made_up.SMALL.drum_share]
    assert sum(shares) == pytest.approx(1.0)
    for experiment in made_up.SMALL.experiments:
        names = list(experiment.contenders) + [experiment.twin_name]
        remaining = 275.0 * experiment.share - schedule.calibration_count(experiment, names) * 0.5
        reserve = 0.9 * len(names) * len(experiment.cells) if experiment.trace_calls else 1.0
        runs = schedule.run_count(experiment, names)
        seconds = schedule.run_seconds(remaining, reserve, runs * [0.0], overhead_s=0.12, warmup_s=experiment.warmup_s)
        assert seconds > 0.3, experiment.name
        assert runs * (seconds + 0.12 + experiment.warmup_s) <= remaining - reserve + 0.001 * runs


@pytest.mark.parametrize("remaining, expected", [(1.0, schedule.SHORTEST_RUN_S), (1e6, schedule.LONGEST_RUN_S)])
def test_a_run_is_neither_too_short_nor_too_long(remaining, expected):
    assert schedule.run_seconds(remaining, 10.0, 100 * [0.0], 0.1, 0.1) == expected


def test_runs_that_take_longer_leave_the_others_less():
    # 100 s for ten runs that take 5 s each at least and ten others: 1 s of each run goes to starting it.
    assert schedule.run_seconds(100.0, 0.0, 10 * [0.0] + 10 * [5.0], 0.9, 0.1) == schedule.LONGEST_RUN_S
    assert schedule.run_seconds(80.0, 0.0, 10 * [0.0] + 10 * [5.0], 0.9, 0.1) == 1.0
    assert schedule.run_seconds(60.0, 0.0, 10 * [0.0] + 10 * [5.0], 0.9, 0.1) == schedule.SHORTEST_RUN_S
    assert schedule.run_seconds(60.0, 0.0, 20 * [0.5], 0.9, 0.1) == 2.0, "it is no longer than the others are"


def test_a_cell_says_how_long_its_runs_are_at_least():
    long = model_plans.SIMPLE_LOAD
    experiment = replace(model_plans.QUICK_HISTORIC, cells=(long, model_plans.SINGLE_LOAD), blocks=2)
    assert schedule.run_lengths(experiment, ["a", "b"]) == 2 * [long.least_run_s, long.least_run_s, 0.0, 0.0]


def test_cells_beyond_the_fd_limit_are_named_not_run_and_their_claims_go_with_them():
    claim = experiments.Claim("a", "b", "64Bx10000")
    experiment = replace(PINGPONG, cells=(Cell(64, 100), Cell(64, 10000)), claims=(claim,))
    kept, left = schedule.fitting(experiment, 4096)
    assert [cell.connections for cell in kept.cells] == [100] and kept.claims == ()
    assert len(left) == 1 and "10,000" in left[0] and "4,096" in left[0]


@pytest.mark.parametrize("experiment", EVERY_EXPERIMENT, ids=lambda experiment: experiment.name)
def test_the_declared_experiments_can_let_their_claims_pass(experiment):
    experiments.check(experiment if experiment.run_s else replace(experiment, budget_s=1.0))


def test_the_classic_matrices_are_as_published():
    rest = plans.FULL_REST.cells[0]
    assert (rest.threads, rest.generator_threads, rest.connections, rest.modes) == (8, 4, 200, (CLOSED,))
    pages = {(cell.short, cell.connections) for cell in plans.FULL_PAGES.cells if cell.threads == 4}
    assert pages == {(short, clients) for short in (True, False) for clients in (1, 10, 100, 1000)}
    assert plans.FULL_PAGES.blocks >= 4  # the first is discarded, the mean is of three


def test_experiments_are_chosen_by_name():
    names = [experiment.name for experiment in plans.chosen(made_up.SMALL, ["rest"], False).experiments]
    assert names == ["rest"] and not plans.chosen(made_up.SMALL, ["rest"], False).drum
    assert plans.chosen(made_up.SMALL, [], False).drum and not plans.chosen(made_up.SMALL, [], False).variants
    with_variants = plans.chosen(made_up.SMALL, ["pingpong"], True)
    assert with_variants.variants and with_variants.experiments[-1].name == "compilers"
    assert plans.chosen(plans.FULL, [], False).variants


def test_a_pair_is_shown_once_and_whoever_serves_http_for_peal_stands_against_all():
    grid = made_up.REST.grid_of(["http-raw-epoll", "http-nginx", "http-peal-epoll"])
    assert grid == [("http-peal-epoll", "http-raw-epoll"), ("http-peal-epoll", "http-nginx"),
                    ("http-nginx", "http-raw-epoll")]
    assert PINGPONG.grid_of(["mine", "yours"]) == [("mine", "yours")]


def shaped(plan, **options):
    wanted = {"experiments": [], "variants": False, "blocks": None, "no_calls": False, "run_seconds": None,
              "budget": None}
    return comparison.shaped(plan, SimpleNamespace(**(wanted | options)), 20000)


def test_options_shape_the_plan():
    plan, left = shaped(made_up.SMALL)
    assert plan.budget_s == made_up.SMALL.budget_s and left == [] and plan.experiments[0].trace_calls
    plan, _ = shaped(made_up.SMALL, run_seconds=60.0, blocks=4, no_calls=True)
    assert plan.budget_s is None and {(e.run_s, e.budget_s, e.blocks) for e in plan.experiments} == {(60.0, None, 4)}
    assert not any(experiment.trace_calls for experiment in plan.experiments)
    assert shaped(plans.FULL, budget=500.0)[0].budget_s == 500.0


def test_an_experiment_none_of_whose_cells_fit_is_left_out_by_name():
    huge = replace(made_up.SMALL, experiments=(replace(PINGPONG, cells=(Cell(64, 10**6),), claims=()),))
    plan, left = shaped(huge)
    assert plan.experiments == () and "1,000,000 connections" in left[0]
