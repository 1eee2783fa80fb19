# SPDX-License-Identifier: BSD-3-Clause
"""Server CPU per message, peal / raw, in each of {64 B, 16 KiB} x {100, 1000}: a duel each, closed loop."""

from versus.bars import duel_bar
from versus.bars.common import CannotMeasure, Context, Row
from versus.bars.duel_bar import Bar
from versus.duel import duel_campaign
from versus.duel.duel_runner import Player
from versus.experiments import CLOSED, Cell, Duels

BARS = (Bar("peal-epoll", "raw-epoll", 1.05), Bar("peal-uring", "raw-uring", 1.05))
CELLS = tuple(Cell(size, connections) for size in (64, 16384) for connections in (100, 1000))
NAMES = ("raw-epoll", "peal-epoll", "peal-uring", "raw-uring")  # the first is twinned


def measure(context: Context) -> list[Row]:
    ready = {contender.name: contender for contender in context.contenders(NAMES)}
    bars = tuple(bar for bar in BARS if {bar.subject, bar.rival} <= ready.keys())
    if not bars:
        raise CannotMeasure("neither peal nor the raw loops were built")
    order = [name for name in NAMES if name in ready] + [name for name in ready if name not in NAMES]
    players = [Player.of(ready[name]) for name in order]
    rows = []
    for cell in CELLS:
        load = duel_campaign.load_of("cost", cell, Duels(restarts=duel_bar.restarts_of(context)), CLOSED)
        duel = duel_bar.play(context, "cost_ratio", load, players, bars)
        rows += duel_bar.rows(duel, bars)
        others = [name for name in order[1:] if name not in NAMES]
        rows += [duel_bar.beside(duel, name, order[0]) for name in others]
    return rows
