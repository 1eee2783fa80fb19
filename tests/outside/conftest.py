# SPDX-License-Identifier: BSD-3-Clause
"""The tests of this folder find tests/examples/programs.py, too."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
