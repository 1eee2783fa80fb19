# SPDX-License-Identifier: BSD-3-Clause
"""Tests decoding with strings and percentiles that the public hdrhistogram package made."""

from collections import Counter

import pytest

from versus import hdr
from versus.fakes import GOLDEN

SPREAD = "HISTFAAAAC94nJNpmSzMwMDIwwABTFCaEUzOmNZg/wEqwMRNJcjOxMzEShXMxAiGdKcAE/4HqQ=="
COARSE = "HISTFAAAACp4nJNpmSzMwMDAxQABzFDqBZDg/eEewWD/ASrCxMj0m4npvz0TAJohB1k="


@pytest.mark.parametrize("text, total, expected", [
    (GOLDEN, 11, [2047, 1000447, 123469823, 123469823]),
    (SPREAD, 143, [499, 899, 991, 995]),
    (COARSE, 4, [2559, 5001215, 5001215, 5001215]),
])
def test_the_public_package_and_this_module_read_the_same_percentiles(text, total, expected):
    histogram = hdr.decode(text)
    assert histogram.total == total
    assert histogram.percentiles([50, 90, 99, 100]) == expected


def test_single_units_are_exact():
    assert [value for value in sorted(hdr.decode(GOLDEN).counts)][:6] == [1, 2, 3, 1000, 2047, 2049]


def test_merging_adds_the_counts_and_moves_the_percentiles():
    merged = hdr.merged([GOLDEN, "", SPREAD])
    assert merged.total == 154
    assert merged.percentiles([50]) == [515]  # the 77th of 154 values is 512, in the bucket 512 to 515
    assert merged.max == hdr.decode(GOLDEN).max


def test_a_percentile_needs_ten_samples_above():
    histogram = hdr.Histogram(Counter({5: 9990, 7: 10}))
    assert histogram.known(99.9) and not histogram.known(99.99)
    assert histogram.percentiles([99.9, 99.91]) == [5, 7]


def test_an_empty_histogram_has_zeros():
    assert hdr.Histogram().percentiles([50, 99]) == [0, 0]


@pytest.mark.parametrize("text", ["", "HIST", "not base64!", "AAAAAAAAAAAA", GOLDEN[:40] + "====", GOLDEN[4:]])
def test_a_text_that_is_no_histogram_is_refused(text):
    with pytest.raises(hdr.BadHistogram):
        hdr.decode(text)


def test_a_damaged_text_is_refused_or_read_but_never_crashes():
    for at in range(len(GOLDEN)):
        damaged = GOLDEN[:at] + ("A" if GOLDEN[at] != "A" else "B") + GOLDEN[at + 1:]
        try:
            assert hdr.decode(damaged).total >= 0
        except hdr.BadHistogram:
            pass
