# SPDX-License-Identifier: BSD-3-Clause
"""The version of peal, as CMakeLists.txt gives it."""
import re
from pathlib import Path


def project_version(root: Path) -> str:
    """MAJOR.MINOR.PATCH"""
    text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"^project\(peal VERSION ([\d.]+)", text, re.MULTILINE)[1]
