# SPDX-License-Identifier: BSD-3-Clause
"""Both programs do each kind of await and end by themselves. What was not built is skipped."""
import subprocess

import pytest

from versus.bars import awaits, bench
from versus.built_programs import built


@pytest.mark.parametrize(("name", "what"), awaits.pairs())
def test_ends_by_itself(name, what):
    path = built(f"contenders/{name}")
    assert subprocess.run([path, what, "100"], timeout=60, check=False).returncode == 0
    assert subprocess.run([path], timeout=60, check=False, stderr=subprocess.DEVNULL).returncode == 2


def test_is_a_figure_of_the_table():
    assert bench.FIGURES["awaits"] is awaits
