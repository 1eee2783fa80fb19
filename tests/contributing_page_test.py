# SPDX-License-Identifier: BSD-3-Clause
"""The command by which CONTRIBUTING.md runs the tests of one floor selects tests. It once named suites of another name,
and ran nothing."""
import os
import pathlib
import re
import subprocess

import pytest

BIN = pathlib.Path(os.environ.get("PEAL_BIN_DIR", "build/dev/bin")).absolute()
PAGE = pathlib.Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"


def test_the_filter_of_the_page_selects_tests():
    page = PAGE.read_text(encoding="utf-8")
    program, words = re.search(r"build/dev/bin/(\w+) --gtest_filter='([^']+)'", page).groups()
    if not (BIN / program).exists():
        pytest.skip(f"{program} was not built")
    listed = subprocess.run([BIN / program, "--gtest_list_tests", f"--gtest_filter={words}"],
                            capture_output=True, text=True, check=True).stdout
    assert re.search(r"^engine/ServerTest\.$\n^  \w", listed, re.M), listed
