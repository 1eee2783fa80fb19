# SPDX-License-Identifier: BSD-3-Clause
"""The statistics, tested on data whose truth is known: a claim that is false passes at most 5 times in 100."""

import json
import math
from pathlib import Path

import numpy
import pytest

from versus import stats

BLOCKS, CLAIMS, TRIALS = 8, 6, 200
TWIN_RUNS = json.loads(Path(__file__).with_name("twin_runs.json").read_text(encoding="utf-8"))
KINDS = ("normal", "heavy", "drift", "bursts", *TWIN_RUNS["ratios"])


@pytest.fixture(autouse=True)
def fewer_resamples(monkeypatch):
    """Enough for the rule, and hundreds of experiments in seconds."""
    monkeypatch.setattr(stats, "RESAMPLES", 800)


def series(logs):
    """Subject and rival whose ratio per block is exp(logs)."""
    return {block: math.exp(value) for block, value in enumerate(logs)}, {block: 1.0 for block in range(len(logs))}


def pair(logs, seed=1):
    return stats.compare(*series(logs), seed)


def noise(random, kind, count):
    """Log-ratios per block of two runs of the same thing."""
    if kind == "normal":
        return random.normal(0.0, 0.02, count)
    if kind == "heavy":
        return 0.01 * random.standard_t(2, count)
    if kind == "bursts":  # a neighbour wakes up during some runs and makes them dear
        burst = random.random((2, count)) < 0.15
        dearer = numpy.where(burst, random.exponential(0.3, (2, count)), 0.0)
        return random.normal(0.0, 0.01, count) + dearer[0] - dearer[1]
    if kind == "drift":  # the machine wanders between the two runs of a block, the same way for a while
        place = numpy.arange(2 * count) + random.normal(0.0, 1.0)
        level = numpy.cumsum(random.normal(0.0, 0.02, 2 * count)) + 0.05 * numpy.sin(place / 5.0)
        order = random.random(count) < 0.5  # who runs first is shuffled
        step = level[1::2] - level[::2]
        return numpy.where(order, step, -step) + random.normal(0.0, 0.01, count)
    # Recorded: blocks drawn from those of a program and its copy; which of the two is "subject" is a coin.
    drawn = random.choice(TWIN_RUNS["ratios"][kind], count, replace=False)
    return numpy.log(drawn) * random.choice([-1.0, 1.0], count)


def verdicts(random, kind, true_log, bar):
    """The verdicts of one whole experiment: a twin, then CLAIMS pairs, Holm over them."""
    floor = stats.noise_floor(pair(noise(random, kind, BLOCKS), int(random.integers(1 << 30))))
    pairs = [pair(true_log + noise(random, kind, BLOCKS), int(random.integers(1 << 30))) for _ in range(CLAIMS)]
    adjusted = stats.holm([stats.p_against(p, bar or 1.0) for p in pairs])
    if bar:
        return [stats.against_bar(p, bar, q) for p, q in zip(pairs, adjusted)]
    return [stats.differs(p, floor, q) for p, q in zip(pairs, adjusted)]


@pytest.mark.parametrize("kind", KINDS)
def test_no_difference_is_claimed_as_one_at_most_five_times_in_a_hundred(kind):
    random = numpy.random.default_rng(20)
    wrong = sum(any(verdicts(random, kind, 0.0, None)) for _ in range(TRIALS))
    assert wrong <= 0.05 * TRIALS


def test_at_the_bar_each_wrong_verdict_is_given_at_most_five_times_in_a_hundred():
    """A ratio of the bar itself: "not met" is wrong, and a hair above it "met" would be."""
    random = numpy.random.default_rng(21)
    kinds = ("normal", "heavy", "recorded_cpu")
    rows = [verdicts(random, kind, math.log(1.05), 1.05) for _ in range(TRIALS) for kind in kinds]
    for wrong in ("met", "not met"):
        assert sum(wrong in row for row in rows) <= 0.05 * len(rows)


def test_without_the_floor_and_holm_the_rule_would_be_wrong_too_often():
    """The test above can fail: the interval alone claims a difference where there is none."""
    random = numpy.random.default_rng(20)
    wrong = sum(any(stats.differs(pair(noise(random, "normal", BLOCKS), trial), 1.0, 0.0) for _ in range(CLAIMS))
                for trial in range(100))
    assert wrong > 10


@pytest.mark.parametrize("kind", ["normal", "drift"])
def test_a_difference_of_a_tenth_is_found_mostly(kind):
    random = numpy.random.default_rng(24)
    found = [verdicts(random, kind, math.log(0.9), None) for _ in range(60)]
    assert sum(row.count("below") for row in found) >= 0.7 * 60 * CLAIMS
    assert sum(row.count("above") for row in found) == 0


def test_a_real_difference_is_found():
    random = numpy.random.default_rng(22)
    found = [verdicts(random, "normal", math.log(0.8), None) for _ in range(40)]
    assert sum(row.count("below") for row in found) >= 0.95 * 40 * CLAIMS
    met = [verdicts(random, "normal", math.log(0.98), 1.05) for _ in range(40)]
    assert sum(row.count("met") for row in met) >= 0.8 * 40 * CLAIMS


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    random = numpy.random.default_rng(23)
    pairs = [pair(random.normal(0.1, 0.03, BLOCKS), int(random.integers(1 << 30))) for _ in range(400)]
    held = sum(p.low <= math.exp(0.1) <= p.high for p in pairs)
    assert held >= 0.9 * 400


def test_the_wilcoxon_p_of_eight_equal_signs_is_two_to_the_minus_seven():
    assert stats.wilcoxon_p([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]) == pytest.approx(2.0**-7)
    assert stats.wilcoxon_p([0.0] * 8) == 1.0


def test_holm_multiplies_and_never_falls():
    assert stats.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert stats.holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert stats.holm([]) == []


def test_blocks_enough_for_the_claims():
    assert [stats.fewest_blocks_for(claims) for claims in (1, 6, 7, 12)] == [6, 8, 9, 9]


def test_a_missing_block_leaves_the_others_paired():
    subject = {0: 2.0, 1: 2.2, 2: 1.8, 4: 2.0, 5: 2.0}
    rival = {0: 1.0, 1: 1.1, 2: 0.9, 3: 9.0, 4: 1.0}
    found = stats.compare(subject, rival, 1)
    assert found.blocks == 4 and found.ratio == pytest.approx(2.0)


def test_too_few_blocks_say_nothing():
    found = pair([0.5, 0.5, 0.5])
    assert not found.known and math.isnan(found.low) and found.ratio == pytest.approx(math.exp(0.5))
    assert stats.differs(found, 1.01, 0.0) == "" and stats.against_bar(found, 1.05, 0.0) == "cannot tell"
    assert stats.standing(found) == "too few runs"


def test_without_a_twin_no_difference_is_claimed():
    assert stats.differs(pair([-0.5] * 8), math.nan, 0.001) == ""


def test_an_effect_inside_the_noise_floor_is_not_claimed():
    tight = pair([-0.010, -0.011, -0.012, -0.013, -0.009, -0.010, -0.011, -0.012])
    assert stats.differs(tight, 1.02, 0.01) == ""
    assert stats.differs(tight, 1.005, 0.01) == "below"


def test_the_same_seed_gives_the_same_interval():
    logs = [0.1, -0.2, 0.05, 0.3, -0.1, 0.0, 0.2, 0.1]
    assert pair(logs, 7) == pair(logs, 7)


@pytest.mark.parametrize("logs, bound, floor, p, why", [
    ([0.5] * 3, 1.0, 1.01, 0.5, "3 usable blocks"),
    ([-0.1, 0.1, -0.2, 0.2, -0.1, 0.1, 0.2, -0.2], 1.0, 1.01, 0.5, "the interval holds 1"),
    ([-0.1] * 8, 1.0, math.nan, 0.01, "there was no A/A twin"),
    ([-0.1] * 8, 1.0, 1.2, 0.01, "the effect is within the noise floor"),
    ([-0.1] * 8, 1.0, 1.01, 0.06, "p is 0.06"),
])
def test_what_cannot_be_told_says_why(logs, bound, floor, p, why):
    assert stats.obstacle(pair(logs), bound, floor, p) == why


@pytest.mark.parametrize("logs, expected", [
    ([0.0, 0.01, -0.01, 0.02, -0.02, 0.01, 0.0, 0.01], "not behind"),
    ([-0.2] * 8, "behind"),
    ([-0.02] * 8, "behind"),
    ([-0.2, 0.3, -0.2, 0.3, -0.2, -0.2, -0.1, 0.3], "cannot tell"),
])
def test_not_behind_means_a_median_near_one_and_an_interval_that_reaches_it(logs, expected):
    assert stats.standing(pair(logs)) == expected
