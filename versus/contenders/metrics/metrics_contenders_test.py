# SPDX-License-Identifier: BSD-3-Clause
"""The program changes each kind of metric and then ends by itself. It is skipped if it is not built."""
import subprocess

import pytest

from versus.bars import bench, metrics
from versus.built_programs import built


@pytest.mark.parametrize("kind", [metrics.EMPTY, *metrics.FIGURES])
def test_ends_by_itself(kind):
    path = built(f"contenders/{metrics.PROGRAM}")
    assert subprocess.run([path, kind, "100"], timeout=60, check=False).returncode == 0


@pytest.mark.parametrize("words", [[], ["counter"], ["loop", "100"]])
def test_wrong_words_are_refused(words):
    path = built(f"contenders/{metrics.PROGRAM}")
    assert subprocess.run([path, *words], timeout=60, check=False).returncode == 2


def test_is_a_figure_of_the_table():
    assert bench.FIGURES["metrics"] is metrics
