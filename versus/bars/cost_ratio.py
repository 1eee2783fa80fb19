# SPDX-License-Identifier: BSD-3-Clause
"""Server CPU per message, peal / raw, in each of {64 B, 16 KiB} x {100, 1000}: a duel each, closed loop."""

from functools import partial

from versus.bars import common, duel_bar
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
    if not any({bar.subject, bar.rival} <= ready.keys() for bar in BARS):
        raise CannotMeasure("neither peal nor the raw loops were built")
    order = [name for name in NAMES if name in ready] + [name for name in ready if name not in NAMES]
    players = [Player.of(ready[name]) for name in order]
    rows = []
    for cell in CELLS:
        rows += common.rows_or_why(f"server CPU per message, {cell.title}",
                                   partial(_cell, context, cell, players))
    return rows


def _cell(context: Context, cell: Cell, players: list[Player]) -> list[Row]:
    load = duel_campaign.load_of("cost", cell, Duels(restarts=duel_bar.restarts_of(context)), CLOSED)
    duel = duel_bar.play(context, "cost_ratio", load, players, BARS)
    others = tuple(player.name for player in players[1:] if player.name not in NAMES)
    return duel_bar.rows(duel, BARS) + duel_bar.beside(duel, others, players[0].name)
