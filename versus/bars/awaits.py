# SPDX-License-Identifier: BSD-3-Clause
"""Measures user instructions per await, without a network. callgrind counts programs that repeat one kind of await 1000
and 11,000 times; the figure is the slope between the two counts. The rows of asio's program stand beside peal's."""

import subprocess
import tempfile
from pathlib import Path

from versus.bars import common, instructions
from versus.bars.common import CannotMeasure, Context, Row

FEW, MANY = 1000, 11_000
PATIENCE_S = 300
# The kinds of await, by the programs' first argument: what one repetition is, and peal's bar.
FIGURES = {
    "fd": ("wait for an fd that is always ready", 550),
    "channel": ("item sent to a task that waits, and answered", 420),
    "select": ("item sent to a task that waits for two channels with select(), and answered", 680),
    "ask": ("question to an object of the same loop", 150),
    "ask_away": ("question to an object of another loop on the same thread", 2000),
}
# Kinds that only peal has.
ALONE = ("ask", "ask_away")
PROGRAMS = ("awaits_peal", "awaits_asio")


def count(program: str, what: str, times: int) -> int:
    """Returns the instructions of `program what times`."""
    with tempfile.TemporaryDirectory(prefix="versus-awaits-") as folder:
        out = Path(folder) / "out"
        words = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", program, what, str(times)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"{Path(program).name} {what} ended with exit code {done.returncode}")
        return instructions.parse_total(out.read_text(encoding="utf-8"))


def _row(context: Context, name: str, what: str) -> Row:
    def slope() -> float:
        program = context.tool(f"contenders/{name}")
        return (count(program, what, MANY) - count(program, what, FEW)) / (MANY - FEW)

    words, most = FIGURES[what]
    context.say(f"awaits: {name} {what}")
    return instructions.row(f"user instructions per {words}, {name}",
                            f"<= {most}" if name == PROGRAMS[0] else common.NO_BAR, most, slope)


def pairs() -> list[tuple[str, str]]:
    """Returns the pairs (program, kind of await) that are counted."""
    return [(name, what) for what in FIGURES for name in (PROGRAMS[:1] if what in ALONE else PROGRAMS)]


def measure(context: Context) -> list[Row]:
    instructions.need_valgrind()
    return [_row(context, name, what) for name, what in pairs()]
