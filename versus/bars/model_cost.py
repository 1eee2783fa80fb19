# SPDX-License-Identifier: BSD-3-Clause
"""Measures server CPU per request, peal's callbacks on epoll / the best hand-written epoll reactor of models/, one loop
each. Framed echo of 64 B at 100 and 1000 connections, and of 4 KiB at 100: one duel each, closed loop."""

from functools import partial

from versus.bars import common, duel_bar
from versus.bars.common import CannotMeasure, Context, Row
from versus.bars.duel_bar import Bar
from versus.duel.duel_figures import CPU, pair_of
from versus.duel.duel_runner import Player
from versus.models import model_plans, model_roster
from versus.models.model_plans import BAR, CLAIM_CELLS, HAND_WRITTEN, SUBJECT
from versus.roster import Contender
from versus.run.echo_cell import EchoCell


def _contenders(context: Context) -> list[Contender]:
    """Returns peal first, then its rivals."""
    program = context.bin_dir / "peal"
    rivals = model_plans.ALL_HAND_WRITTEN if context.everyone else HAND_WRITTEN
    listed = {row.name: row for row in model_roster.rows_of(model_roster.listed_by(program), program)}
    found = [listed[name] for name in (SUBJECT, *rivals) if name in listed]
    if SUBJECT not in listed or len(found) < 2:
        raise CannotMeasure(f"{program} does not list peal_callbacks and the hand-written reactors")
    return found


def measure(context: Context) -> list[Row]:
    context.tool("peal")
    contenders = _contenders(context)
    return common.in_parts({f"server CPU per request, {cell.title}": partial(_cell, context, cell, contenders)
                            for cell in CLAIM_CELLS})


def _cell(context: Context, cell: EchoCell, contenders: list[Contender]) -> list[Row]:
    players = [Player(c.name, tuple(c.for_cell(cell)("{host}", "{port}"))) for c in contenders]
    bars = tuple(Bar(SUBJECT, player.name, BAR) for player in players[1:])
    duel = duel_bar.play(context, "model_cost", duel_bar.load_of(context, "model", cell), players, bars)
    # The best rival is the one with the highest ratio peal / rival.
    known = [(bar, pair) for bar in bars if (pair := pair_of(duel.found, CPU, bar.subject, bar.rival)).blocks]
    if not known:
        raise CannotMeasure(f"no rival played: {'; '.join(duel.left_out)}")
    best = max(known, key=lambda entry: entry[1].ratio)[0]
    return [duel_bar.row(duel, best, "request", tuple(bar.rival for bar, _ in known if bar is not best))]
