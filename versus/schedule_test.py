# SPDX-License-Identifier: BSD-3-Clause
"""Shuffled blocks, the fixed rate, and the arithmetic of the budget."""

import pytest

from versus import experiments, schedule
from versus.experiments import CLOSED, FULL, QUICK, RATE, Cell

NAMES = [f"contender-{number}" for number in range(9)]


@pytest.mark.parametrize("block", range(8))
def test_every_contender_runs_once_per_block_and_cell(block):
    tasks = schedule.block_tasks(QUICK.cells, block, NAMES, 42)
    assert len(tasks) == len(NAMES) * len(QUICK.cells)
    assert {(task.cell.name, task.contender) for task in tasks} == {(c.name, n) for c in QUICK.cells for n in NAMES}
    assert len({task.key for task in tasks}) == len(tasks)


def test_what_is_compared_runs_side_by_side():
    tasks = schedule.block_tasks(QUICK.cells, 0, NAMES, 42)
    cells = [task.cell.name for task in tasks]
    assert cells == sorted(cells, key=cells.index)


def test_the_seed_fixes_the_order_and_blocks_differ():
    orders = [[t.contender for t in schedule.block_tasks(QUICK.cells[:1], block, NAMES, 42)] for block in range(8)]
    again = [[t.contender for t in schedule.block_tasks(QUICK.cells[:1], block, NAMES, 42)] for block in range(8)]
    other = [[t.contender for t in schedule.block_tasks(QUICK.cells[:1], block, NAMES, 43)] for block in range(8)]
    assert orders == again and orders != other
    assert len({tuple(order) for order in orders}) == 8


def test_no_place_in_the_order_belongs_to_one_contender():
    first = [schedule.block_tasks(QUICK.cells[:1], block, NAMES, 1)[0].contender for block in range(900)]
    assert all(60 <= first.count(name) <= 140 for name in NAMES)


def test_calibration_is_closed_loop_where_a_rate_is_needed():
    tasks = schedule.calibration_tasks(QUICK.cells, 1, NAMES, 42)
    assert {task.mode for task in tasks} == {CLOSED} and {task.block for task in tasks} == {-1}
    assert {task.cell.name for task in tasks} == {cell.name for cell in QUICK.cells if RATE in cell.modes}


def test_the_rate_is_half_of_the_slowest_ones_best():
    assert schedule.fixed_rate({"fast": [90000.0, 100000.0], "slow": [41000.0, 40000.0], "gone": []}) == 20000.0
    assert schedule.fixed_rate({"tiny": [7.0]}) == 3.0


def test_the_quick_run_fits_its_budget():
    runs = schedule.run_count(QUICK, 9)
    assert runs == 8 * 9 * 3
    seconds = schedule.run_seconds(remaining_s=245.0, reserve_s=40.0, runs=runs, overhead_s=0.1, warmup_s=0.12)
    assert 0.5 < seconds < 1.0
    assert runs * (seconds + 0.1 + 0.12) <= 245.0 - 40.0 + 0.001 * runs


@pytest.mark.parametrize("remaining, expected", [(1.0, schedule.SHORTEST_RUN_S), (1e6, schedule.LONGEST_RUN_S)])
def test_a_run_is_neither_too_short_nor_too_long(remaining, expected):
    assert schedule.run_seconds(remaining, 10.0, 100, 0.1, 0.1) == expected


def test_cells_beyond_the_fd_limit_are_named_not_run():
    kept, left = schedule.fitting((Cell(64, 100), Cell(64, 10000)), 4096)
    assert [cell.connections for cell in kept] == [100]
    assert len(left) == 1 and "10,000" in left[0] and "4,096" in left[0]


@pytest.mark.parametrize("experiment", [QUICK, FULL])
def test_the_declared_experiments_can_let_their_claims_pass(experiment):
    experiments.check(experiment)
    assert len({cell.name for cell in experiment.cells}) == len(experiment.cells)
