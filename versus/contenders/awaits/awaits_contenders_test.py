# SPDX-License-Identifier: BSD-3-Clause
"""Each program does each kind of await and then ends by itself. Programs that are not built are skipped."""
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
