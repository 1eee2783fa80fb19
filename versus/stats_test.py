# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the statistics, on data whose truth is known."""

import math

import numpy
import pytest

from versus import stats

BLOCKS = 8


def pair(logs):
    """Returns a pair whose ratio per block is exp(logs)."""
    subject = {block: math.exp(value) for block, value in enumerate(logs)}
    return stats.compare(subject, dict.fromkeys(subject, 1.0))


@pytest.mark.parametrize("scatter", [lambda random: random.normal(0.1, 0.03, BLOCKS),
                                     lambda random: random.normal(0.1, numpy.linspace(0.01, 0.1, BLOCKS))])
def test_the_interval_contains_the_truth_in_about_95_of_100_cases(scatter):
    random = numpy.random.default_rng(23)
    pairs = [pair(scatter(random)) for _ in range(600)]
    held = sum(p.low <= math.exp(0.1) <= p.high for p in pairs)
    assert 0.93 * 600 <= held <= 0.985 * 600


def test_a_missing_block_leaves_the_others_paired():
    subject = {0: 2.0, 1: 2.2, 2: 1.8, 4: 2.0, 5: 2.0}
    rival = {0: 1.0, 1: 1.1, 2: 0.9, 3: 9.0, 4: 1.0}
    found = stats.compare(subject, rival)
    assert found.blocks == 4 and found.ratio == pytest.approx(2.0)


def test_too_few_blocks_have_no_interval():
    found = pair([0.5, 0.5, 0.5])
    assert not found.known and math.isnan(found.low) and found.ratio == pytest.approx(math.exp(0.5))
    assert found.as_dict() == {"blocks": 3, "ratio": pytest.approx(math.exp(0.5)), "low": None, "high": None}
    assert stats.standing(found) == "too few runs"
    assert stats.UNKNOWN.as_dict() == {"blocks": 0, "ratio": None, "low": None, "high": None}
    assert stats.of_logs([]) == stats.UNKNOWN


def test_values_without_scatter_have_an_interval_of_one_point():
    still = pair([-0.1] * 8)
    assert still.low == still.high == still.ratio


@pytest.mark.parametrize("logs, expected", [
    ([0.0, 0.01, -0.01, 0.02, -0.02, 0.01, 0.0, 0.01], "not behind"),
    ([-0.2] * 8, "behind"),
    ([-0.02] * 8, "behind"),
    ([-0.2, 0.3, -0.2, 0.3, -0.2, -0.2, -0.1, -0.3], "cannot tell"),
])
def test_not_behind_means_a_ratio_near_one_and_an_interval_that_reaches_it(logs, expected):
    assert stats.standing(pair(logs)) == expected
