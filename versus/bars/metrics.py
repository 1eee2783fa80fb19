# SPDX-License-Identifier: BSD-3-Clause
"""Measures user instructions per change of a metric of the program. callgrind counts a program that makes 1000 and
101,000 changes; the figure is the slope between the two counts, less that of an empty loop."""

from functools import partial

from versus.bars import awaits, common, instructions
from versus.bars.common import Context, Row

PROGRAM = "metrics_peal"
FEW, MANY = 1000, 101_000
EMPTY = "nothing"
# The program's first argument: what one repetition is, and its bar.
FIGURES = {
    "counter": ("Counter::add()", 10),
    "gauge": ("Gauge::set()", 5),
    "gauge_add": ("Gauge::add()", 15),
    "times": ("TimeHistogram::record()", 45),
}


def _slope(program: str, kind: str) -> float:
    few, many = (awaits.count(program, kind, times) for times in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def _row(context: Context, kind: str) -> Row:
    def count() -> float:
        program = context.tool(f"contenders/{PROGRAM}")
        return _slope(program, kind) - _slope(program, EMPTY)

    words, most = FIGURES[kind]
    context.say(f"metrics: {words}")
    return instructions.row(f"user instructions per {words}", f"<= {most}", most, count)


def measure(context: Context) -> list[Row]:
    instructions.need_valgrind()
    return common.in_parts({f"user instructions per {words}": partial(lambda kind: [_row(context, kind)], kind)
                            for kind, (words, _) in FIGURES.items()})
