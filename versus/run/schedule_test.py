# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the fixed rate and of the budget's arithmetic. The plans must be able to do what they declare."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from versus import comparison, experiments, made_up, plans
from versus.run import schedule
from versus.experiments import CLOSED, Cell

PINGPONG = made_up.PINGPONG
EVERY_EXPERIMENT = [experiment for plan in plans.BY_NAME.values() for experiment in plan.experiments]


def test_the_rate_is_half_of_the_slowest_contenders_saturation():
    assert schedule.fixed_rate({"fast": [90000.0, 100000.0], "slow": [41000.0, 40000.0], "gone": []}) == 20000.0
    assert schedule.fixed_rate({"tiny": [7.0]}) == 3.0


def test_budget_that_an_experiment_does_not_use_goes_to_the_next():
    assert schedule.share_of(100.0, 0.6, 0.4) == pytest.approx(60.0)
    assert schedule.share_of(70.0, 0.3, 0.1) == pytest.approx(52.5)  # the first experiment left 30
    assert schedule.share_of(50.0, 0.1, 0.0) == pytest.approx(50.0)


def test_a_plan_fits_its_budget():
    assert made_up.SMALL.budget_s < 300
    shares = [experiment.share for experiment in made_up.SMALL.experiments] + [made_up.SMALL.drum_share]
    assert sum(shares) == pytest.approx(1.0)


def test_cells_beyond_the_fd_limit_are_dropped_with_their_claims_and_named():
    claim = experiments.Claim("a", "b", "64Bx10000")
    experiment = replace(PINGPONG, cells=(Cell(64, 100), Cell(64, 10000)), claims=(claim,))
    kept, left = schedule.fitting(experiment, 4096)
    assert [cell.connections for cell in kept.cells] == [100] and kept.claims == ()
    assert len(left) == 1 and "10,000" in left[0] and "4,096" in left[0]


@pytest.mark.parametrize("experiment", EVERY_EXPERIMENT, ids=lambda experiment: experiment.name)
def test_each_declared_experiment_can_meet_its_claims(experiment):
    experiments.check(experiment)


def test_the_classic_matrices_are_as_published():
    rest = plans.FULL_REST.cells[0]
    assert (rest.threads, rest.generator_threads, rest.connections, rest.modes) == (8, 4, 200, (CLOSED,))
    pages = {(cell.short, cell.connections) for cell in plans.FULL_PAGES.cells if cell.threads == 4}
    assert pages == {(short, clients) for short in (True, False) for clients in (1, 10, 100, 1000)}
    assert plans.FULL_PAGES.duels.restarts >= 4  # the first is discarded, and the mean is of three


def test_experiments_are_chosen_by_name():
    names = [experiment.name for experiment in plans.chosen(made_up.SMALL, ["rest"], False).experiments]
    assert names == ["rest"] and not plans.chosen(made_up.SMALL, ["rest"], False).drum
    assert plans.chosen(made_up.SMALL, [], False).drum and not plans.chosen(made_up.SMALL, [], False).variants
    with_variants = plans.chosen(made_up.SMALL, ["pingpong"], True)
    assert with_variants.variants and with_variants.experiments[-1].name == "compilers"
    assert plans.chosen(plans.FULL, [], False).variants


def test_a_pair_is_shown_once_and_peals_http_server_is_compared_with_all():
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
    assert plan.budget_s is None
    assert {(e.duels.turn_s, e.duels.turns, e.duels.restarts, e.budget_s) for e in plan.experiments} == {
        (60.0, 4, 4, None)}
    assert not any(experiment.trace_calls for experiment in plan.experiments)
    assert shaped(plans.FULL, budget=500.0)[0].budget_s == 500.0


def test_an_experiment_without_a_cell_that_fits_is_dropped_and_named():
    huge = replace(made_up.SMALL, experiments=(replace(PINGPONG, cells=(Cell(64, 10**6),), claims=()),))
    plan, left = shaped(huge)
    assert plan.experiments == () and "1,000,000 connections" in left[0]
