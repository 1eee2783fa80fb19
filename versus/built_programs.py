# SPDX-License-Identifier: BSD-3-Clause
"""For tests: finds built programs in the folder that PEAL_BIN_DIR names. Tests of programs that are not built are
skipped."""

import os
from pathlib import Path

import pytest

from versus.bars.common import Context

BIN_DIR = Path(os.environ.get("PEAL_BIN_DIR", "build/release/bin"))


def built(name: str) -> Path:
    path = BIN_DIR / name
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return path


def bars_of(folder: Path, blocks: int, *names: str) -> Context:
    """Returns a context for figures in which only these contenders exist."""
    programs = folder / "bin" / "contenders"
    programs.mkdir(parents=True)
    for name in names:
        (programs / name).symlink_to(built(f"contenders/{name}").resolve())
    return Context(programs.parent, folder / "out", 1, blocks, False, [])
