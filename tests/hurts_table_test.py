# SPDX-License-Identifier: BSD-3-Clause
"""docs/hurts.md names only tests that exist, and names every regression test."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = (ROOT / "docs/hurts.md").read_text(encoding="utf-8")


def named():
    return set(re.findall(r"`((?:regress|integration|consume)/[\w./]+)`", TABLE))


def test_every_test_it_names_exists():
    assert named()
    assert [name for name in named() if not (ROOT / "tests" / name).is_file()] == []


def test_it_names_every_regression_test():
    tests = {str(path.relative_to(ROOT / "tests")) for path in (ROOT / "tests/regress").rglob("*_test.cc")}
    assert tests - named() == set()
