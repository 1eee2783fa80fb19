# SPDX-License-Identifier: BSD-3-Clause
"""Tests the judge on data whose truth is known: a false claim passes at most 5 times in 100."""

import json
import math
from pathlib import Path

import numpy
import pytest

from versus import stats
from versus.duel import judge

BLOCKS, CLAIMS, TRIALS = 8, 6, 200
TWIN_RUNS = json.loads(Path(__file__).with_name("twin_runs.json").read_text(encoding="utf-8"))
KINDS = ("normal", "heavy", "drift", "bursts", *TWIN_RUNS["ratios"])


def noise(random, kind, count):
    """Returns log ratios per block of two runs of the same program."""
    if kind == "normal":
        return random.normal(0.0, 0.02, count)
    if kind == "heavy":
        return 0.01 * random.standard_t(2, count)
    if kind == "bursts":  # another virtual machine makes some runs expensive
        burst = random.random((2, count)) < 0.15
        dearer = numpy.where(burst, random.exponential(0.3, (2, count)), 0.0)
        return random.normal(0.0, 0.01, count) + dearer[0] - dearer[1]
    if kind == "drift":  # the machine's speed drifts between the two runs of a block, in the same direction for a while
        place = numpy.arange(2 * count) + random.normal(0.0, 1.0)
        level = numpy.cumsum(random.normal(0.0, 0.02, 2 * count)) + 0.05 * numpy.sin(place / 5.0)
        order = random.random(count) < 0.5  # the order of the two runs is shuffled
        step = level[1::2] - level[::2]
        return numpy.where(order, step, -step) + random.normal(0.0, 0.01, count)
    # Recorded data: blocks drawn from runs of a program and its copy. Chance decides which of the two is the subject.
    drawn = random.choice(TWIN_RUNS["ratios"][kind], count, replace=False)
    return numpy.log(drawn) * random.choice([-1.0, 1.0], count)


def pages(random, kind, true_log, count, bar=1.0, alone=False):
    """Returns the verdicts of `count` pages with CLAIMS claims each. Holm's correction covers each page, or with
    `alone` each claim."""
    asked = [judge.question(true_log + noise(random, kind, BLOCKS), bar=bar,
                            family=f"{page}.{claim}" if alone else str(page))
             for page in range(count) for claim in range(CLAIMS)]
    told = [answer["verdict"] for answer in judge.ask(asked)]
    return [told[at:at + CLAIMS] for at in range(0, len(told), CLAIMS)]


def said_of(logs, **more):
    """Returns (verdict, why) of a single question."""
    answer = judge.ask([judge.question(logs, **more)])[0]
    return answer["verdict"], answer["why"]


@pytest.mark.parametrize("kind", KINDS)
def test_if_the_truth_is_the_bar_each_wrong_verdict_is_on_at_most_5_of_100_pages(kind):
    """The true ratio equals the bar: "not met" is wrong. Just above the bar, "met" would be wrong."""
    told = pages(numpy.random.default_rng(20), kind, 0.0, TRIALS)
    for wrong in (stats.MET, stats.NOT_MET):
        assert sum(wrong in page for page in told) <= 0.05 * TRIALS


@pytest.mark.parametrize("kind", KINDS)
def test_equal_programs_without_a_claim_differ_at_most_2_times_in_100(kind):
    random = numpy.random.default_rng(21)
    answers = judge.ask([judge.question(noise(random, kind, BLOCKS), family=str(trial)) for trial in range(5 * TRIALS)])
    assert sum(answer["verdict"] in judge.APART for answer in answers) <= 0.02 * 5 * TRIALS


def test_without_holms_correction_wrong_verdicts_would_be_too_frequent():
    """Shows that the first test can fail: if each claim is judged alone, more pages have a wrong verdict."""
    told = pages(numpy.random.default_rng(20), "normal", 0.0, 100, alone=True)
    assert sum(set(page) != {stats.CANNOT_TELL} for page in told) > 10


@pytest.mark.parametrize("kind", ["normal", "drift"])
def test_a_difference_of_10_percent_is_usually_found(kind):
    found = pages(numpy.random.default_rng(24), kind, math.log(0.9), 60)
    assert sum(row.count(stats.MET) for row in found) >= 0.7 * 60 * CLAIMS
    assert sum(row.count(stats.NOT_MET) for row in found) == 0


def test_a_real_difference_is_found():
    random = numpy.random.default_rng(22)
    found = pages(random, "normal", math.log(0.8), 40)
    assert sum(row.count(stats.MET) for row in found) >= 0.95 * 40 * CLAIMS
    found = pages(random, "normal", math.log(0.98), 40, 1.05)
    assert sum(row.count(stats.MET) for row in found) >= 0.8 * 40 * CLAIMS


def test_the_judges_interval_equals_the_one_in_the_plots():
    logs = numpy.random.default_rng(23).normal(0.1, 0.03, BLOCKS).tolist()
    answer, pair = judge.ask([judge.question(logs)])[0], stats.of_logs(logs)
    assert [answer[key] for key in ("ratio", "low", "high")] == pytest.approx([pair.ratio, pair.low, pair.high])
    assert answer["restarts"] == pair.blocks


def test_too_few_blocks_give_no_verdict():
    assert said_of([0.5] * 3) == (stats.CANNOT_TELL, "too few restarts")
    assert said_of([0.5] * 3, bar=1.05) == (stats.CANNOT_TELL, "too few restarts")
    nothing = judge.ask([judge.question([])])[0]
    assert nothing["verdict"] == stats.CANNOT_TELL and nothing["ratio"] is None and nothing["p"] == 1.0


def test_values_without_scatter_are_decided():
    answers = judge.ask([judge.question([-0.1] * 8, family="a"), judge.question([0.0] * 8, family="b")])
    assert answers[0]["p"] == 0.0 and answers[0]["verdict"] == judge.LESS and answers[1]["p"] == 1.0


def test_an_effect_below_1_percent_is_no_difference():
    assert said_of([-0.008, -0.0081, -0.0079, -0.008, -0.0082, -0.0078])[0] not in judge.APART
    assert said_of([-0.018, -0.0181, -0.0179, -0.018, -0.0182, -0.0178])[0] == judge.LESS
    assert said_of([0.018, 0.0181, 0.0179, 0.018, 0.0182, 0.0178])[0] == judge.MORE


def test_a_lower_bar_mirrors_an_upper_bar():
    many = [math.log(value) for value in (40.0, 41.0, 42.0, 43.0, 44.0)]
    assert [judge.alone(many, bar=bar) for bar in (50.0, 39.0)] == [stats.MET, stats.NOT_MET]
    assert [judge.alone(many, bar=bar, side=">=") for bar in (50.0, 39.0)] == [stats.NOT_MET, stats.MET]
    assert judge.alone(many, bar=42.5) == stats.CANNOT_TELL


def test_an_error_says_that_the_judge_is_missing_or_failed(monkeypatch, tmp_path):
    monkeypatch.setattr(judge, "PROGRAM", tmp_path / "peal")
    assert judge.ask([]) == []
    with pytest.raises(judge.NoJudge, match="run `make build`"):
        judge.ask([judge.question([0.0])])
    judge.PROGRAM.write_text("#!/bin/sh\necho 'peal: not today' >&2\nexit 1\n")
    judge.PROGRAM.chmod(0o755)
    with pytest.raises(judge.NoJudge, match="load judge failed: peal: not today"):
        judge.ask([judge.question([0.0])])
