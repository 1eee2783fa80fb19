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


def pair(logs):
    """Subject and rival whose ratio per block is exp(logs)."""
    subject = {block: math.exp(value) for block, value in enumerate(logs)}
    return stats.compare(subject, dict.fromkeys(subject, 1.0))


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


def verdicts(random, kind, true_log, bar=1.0):
    """The verdicts of a page of CLAIMS claims, Holm over them."""
    pairs = [pair(true_log + noise(random, kind, BLOCKS)) for _ in range(CLAIMS)]
    adjusted = stats.holm([stats.p_against(p, bar) for p in pairs])
    return [stats.judged(p, bar, q)[0] for p, q in zip(pairs, adjusted)]


@pytest.mark.parametrize("kind", KINDS)
def test_at_the_bar_each_wrong_verdict_is_given_on_at_most_five_pages_in_a_hundred(kind):
    """A ratio of the bar itself: "not met" is wrong, and a hair above it "met" would be."""
    random = numpy.random.default_rng(20)
    pages = [verdicts(random, kind, 0.0) for _ in range(TRIALS)]
    for wrong in (stats.MET, stats.NOT_MET):
        assert sum(wrong in page for page in pages) <= 0.05 * TRIALS


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_of_which_nothing_was_claimed_differs_at_most_twice_in_a_hundred(kind):
    random = numpy.random.default_rng(21)
    wrong = sum(bool(stats.differs(pair(noise(random, kind, BLOCKS)))) for _ in range(5 * TRIALS))
    assert wrong <= 0.02 * 5 * TRIALS


def test_without_holm_the_rule_would_be_wrong_too_often():
    """The test above can fail: with each claim by itself a page is wrong more often."""
    random = numpy.random.default_rng(20)
    wrong = sum(any(stats.judged_alone(pair(noise(random, "normal", BLOCKS)), 1.0) != stats.CANNOT_TELL
                    for _ in range(CLAIMS)) for _ in range(100))
    assert wrong > 10


@pytest.mark.parametrize("kind", ["normal", "drift"])
def test_a_difference_of_a_tenth_is_found_mostly(kind):
    random = numpy.random.default_rng(24)
    found = [verdicts(random, kind, math.log(0.9)) for _ in range(60)]
    assert sum(row.count(stats.MET) for row in found) >= 0.7 * 60 * CLAIMS
    assert sum(row.count(stats.NOT_MET) for row in found) == 0


def test_a_real_difference_is_found():
    random = numpy.random.default_rng(22)
    found = [verdicts(random, "normal", math.log(0.8)) for _ in range(40)]
    assert sum(row.count(stats.MET) for row in found) >= 0.95 * 40 * CLAIMS
    found = [verdicts(random, "normal", math.log(0.98), 1.05) for _ in range(40)]
    assert sum(row.count(stats.MET) for row in found) >= 0.8 * 40 * CLAIMS


@pytest.mark.parametrize("scatter", [lambda random: random.normal(0.1, 0.03, BLOCKS),
                                     lambda random: random.normal(0.1, numpy.linspace(0.01, 0.1, BLOCKS))])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(scatter):
    random = numpy.random.default_rng(23)
    pairs = [pair(scatter(random)) for _ in range(600)]
    held = sum(p.low <= math.exp(0.1) <= p.high for p in pairs)
    assert 0.93 * 600 <= held <= 0.985 * 600


def test_holm_multiplies_and_never_falls():
    assert stats.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert stats.holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert stats.holm([]) == []


def test_a_missing_block_leaves_the_others_paired():
    subject = {0: 2.0, 1: 2.2, 2: 1.8, 4: 2.0, 5: 2.0}
    rival = {0: 1.0, 1: 1.1, 2: 0.9, 3: 9.0, 4: 1.0}
    found = stats.compare(subject, rival)
    assert found.blocks == 4 and found.ratio == pytest.approx(2.0)


def test_too_few_blocks_say_nothing():
    found = pair([0.5, 0.5, 0.5])
    assert not found.known and math.isnan(found.low) and found.ratio == pytest.approx(math.exp(0.5))
    assert found.as_dict() == {"blocks": 3, "ratio": pytest.approx(math.exp(0.5)), "low": None, "high": None}
    assert stats.differs(found) == "" and found.p == 1.0
    assert stats.judged(found, 1.05, 0.0) == (stats.CANNOT_TELL, "3 usable restarts")
    assert stats.standing(found) == "too few runs"
    assert stats.UNKNOWN.as_dict() == {"blocks": 0, "ratio": None, "low": None, "high": None}
    assert stats.of_logs([]) == stats.UNKNOWN and stats.differs(stats.UNKNOWN) == ""


def test_values_that_do_not_scatter_are_what_they_are():
    still = pair([-0.1] * 8)
    assert still.low == still.high == still.ratio and still.p == 0.0 and stats.differs(still) == "below"
    assert stats.p_against(pair([0.0] * 8), 1.0) == 1.0


def test_an_effect_within_a_hundredth_is_none():
    assert stats.differs(pair([-0.008, -0.0081, -0.0079, -0.008, -0.0082, -0.0078])) == ""
    assert stats.differs(pair([-0.018, -0.0181, -0.0179, -0.018, -0.0182, -0.0178])) == "below"
    assert stats.differs(pair([0.018, 0.0181, 0.0179, 0.018, 0.0182, 0.0178])) == "above"


@pytest.mark.parametrize("ratio, half, p, verdict, why", [
    (1.00, 0.03, 0.01, stats.MET, ""),
    (1.15, 0.03, 0.01, stats.NOT_MET, ""),
    (1.04, 0.015, 0.40, stats.AT_THE_BAR, ""),
    (1.033, 0.015, 0.08, stats.AT_THE_BAR, ""),
    (1.04, 0.03, 0.40, stats.CANNOT_TELL, "the interval holds 1.05"),
    (1.00, 0.015, 0.06, stats.CANNOT_TELL, "p is 0.06"),
])
def test_a_claim_against_its_bar(ratio, half, p, verdict, why):
    found = stats.Pair(16, ratio, ratio / (1 + half), ratio * (1 + half))
    assert stats.judged(found, 1.05, p) == (verdict, why)


def test_a_bar_that_is_the_least_is_the_mirror():
    many = stats.compare(dict(enumerate([40.0, 41.0, 42.0, 43.0, 44.0])), dict.fromkeys(range(5), 1.0))
    assert many.ratio == pytest.approx(42.0, rel=0.001)
    assert [stats.judged_alone(many, bar) for bar in (50.0, 39.0)] == [stats.MET, stats.NOT_MET]
    assert [stats.judged_alone(many, bar, True) for bar in (50.0, 39.0)] == [stats.NOT_MET, stats.MET]
    assert stats.judged_alone(many, 42.5) == stats.CANNOT_TELL


@pytest.mark.parametrize("logs, expected", [
    ([0.0, 0.01, -0.01, 0.02, -0.02, 0.01, 0.0, 0.01], "not behind"),
    ([-0.2] * 8, "behind"),
    ([-0.02] * 8, "behind"),
    ([-0.2, 0.3, -0.2, 0.3, -0.2, -0.2, -0.1, -0.3], "cannot tell"),
])
def test_not_behind_means_a_ratio_near_one_and_an_interval_that_reaches_it(logs, expected):
    assert stats.standing(pair(logs)) == expected
