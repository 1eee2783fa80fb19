# SPDX-License-Identifier: BSD-3-Clause
"""How far a run is, with a clock that the test moves: steps, first ratios, the time left."""

import pytest

from versus.quick.quick_fakes import LINE, Clock, made
from versus.quick.quick_progress import PRELIMINARY, USUAL_SLOWNESS


def test_before_the_first_step_the_time_left_is_the_budget():
    progress = made(Clock())
    assert progress.now is None and progress.done_share() == 0.0
    assert progress.left_s() == pytest.approx(200.0)


def test_the_time_left_falls_with_the_clock_and_never_below_the_steps_that_wait():
    clock = Clock()
    progress = made(clock)
    progress.begin("one", 90.0)
    clock.move(30.0)
    assert progress.left_s() == pytest.approx(170.0)
    assert progress.done_share() == pytest.approx(30 / 200)
    clock.move(400.0)
    assert progress.left_s() == pytest.approx(20.0)  # the drum and the page at least


def test_without_a_drum_the_restarts_bound_the_duels():
    progress = made(Clock(), budget_s=1000.0, drum=False)
    assert progress.left_s() == pytest.approx(2 * 60 * USUAL_SLOWNESS + 5.0)


def test_measured_restarts_correct_the_time_left():
    clock = Clock()
    progress = made(clock, budget_s=1000.0, drum=False)
    progress.begin("one", 500.0)
    clock.move(40.0)
    progress.on_restart(LINE.format(10))  # 4 s each
    assert progress.step("one").slowness == pytest.approx(4.0)
    assert progress.left_s() == pytest.approx(200.0 + 240.0 + 5.0)
    clock.move(200.0)
    progress.end("one", "60 restarts")
    assert progress.left_s() == pytest.approx(240.0 + 5.0)


def test_a_duel_that_takes_longer_than_planned_has_no_time_left():
    clock = Clock()
    progress = made(clock, drum=False)
    progress.begin("two", 10.0)
    progress.step("one").ended = progress.step("one").began = clock()
    clock.move(60.0)
    assert progress.left_s() == pytest.approx(5.0)


def test_a_restart_gives_first_ratios():
    progress = made(Clock())
    progress.begin("one")
    progress.on_restart(LINE.format(12))
    step = progress.now
    assert (step.restart, step.restarts) == (12, 60)
    floor, libuv, libevent = step.rows
    assert (floor.ratio, floor.verdict) == (0.96, PRELIMINARY)
    assert (floor.low, floor.high) == (pytest.approx(0.96 / 1.025), pytest.approx(0.96 * 1.025))
    assert (libuv.ratio, libuv.low, libuv.verdict) == (0.91, None, PRELIMINARY)
    assert libevent.ratio is None and libevent.verdict == ""


def test_a_duel_that_ends_undecided_keeps_no_first_ratios():
    progress = made(Clock())
    progress.begin("one")
    progress.on_restart(LINE.format(2))
    progress.end("one", "could not be played")
    assert all(row.ratio is None and row.verdict == "" for row in progress.step("one").rows)
    assert progress.now is None and progress.step("one").detail == "could not be played"


@pytest.mark.parametrize("line", ["", "restarting", "peal: one: it ended"])
def test_a_line_that_is_about_no_restart_changes_nothing(line):
    progress = made(Clock())
    progress.on_restart(LINE.format(3))  # no step runs
    progress.begin("one")
    progress.on_restart(line)
    assert progress.now.restart == 0


def test_what_is_said_is_kept_and_passed_on():
    progress, heard = made(Clock()), []
    progress.say("first")
    progress.on_say = heard.append
    progress.say("second")
    assert progress.said == ["first", "second"] and heard == ["second"]
    progress.detail("nobody runs")  # no step runs: nothing to say it of
    progress.begin("drum", 20.0, "faster")
    progress.detail("block 1")
    assert (progress.now.about, progress.now.planned_s, progress.now.detail) == ("faster", 20.0, "block 1")
