# SPDX-License-Identifier: BSD-3-Clause
"""Measures server CPU per message, peal / raw, in the cells {64 B, 16 KiB} x {100, 1000 connections}: one duel each,
closed loop."""

from functools import partial

from versus.bars import common, duel_bar
from versus.bars.common import CannotMeasure, Context, Row
from versus.bars.duel_bar import Bar
from versus.duel.duel_runner import Player
from versus.experiments import Cell

BARS = (Bar("peal-epoll", "raw-epoll", 1.05), Bar("peal-uring", "raw-uring", 1.05))
CELLS = tuple(Cell(size, connections) for size in (64, 16384) for connections in (100, 1000))
NAMES = ("raw-epoll", "peal-epoll", "peal-uring", "raw-uring")  # the first is twinned


def measure(context: Context) -> list[Row]:
    ready = {contender.name: contender for contender in context.contenders(NAMES)}
    if not any({bar.subject, bar.rival} <= ready.keys() for bar in BARS):
        raise CannotMeasure("neither peal with raw-epoll nor peal with raw-uring is built")
    order = [name for name in NAMES if name in ready] + [name for name in ready if name not in NAMES]
    players = [Player.of(ready[name]) for name in order]
    others = tuple(name for name in order[1:] if name not in NAMES)
    return common.in_parts({
        f"server CPU per message, {cell.title}": partial(
            duel_bar.judged, context, "cost_ratio", duel_bar.load_of(context, "cost", cell), players, BARS,
            others=others)
        for cell in CELLS})
