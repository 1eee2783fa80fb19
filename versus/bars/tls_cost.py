# SPDX-License-Identifier: BSD-3-Clause
"""Measures server CPU over TLS: one duel per cell, closed loop. Echoes and a download compare peal with OpenSSL on a
bare epoll loop; a GET on a keep-alive connection compares peal with nginx. The cells are those of the experiments tls
and https."""

from dataclasses import dataclass
from functools import partial

from versus.bars import common, duel_bar, tls_common
from versus.bars.common import Context, Row
from versus.bars.duel_bar import Bar
from versus.duel.duel_runner import Player
from versus.experiments import Load
from versus.roster import HTTPS, TLS
from versus.tls import tls_plans
from versus.tls.tls_plans import FLOOR, HTTPS_FLOOR, HTTPS_OURS, NGINX, OURS


@dataclass(frozen=True)
class Asked:
    """One cell with its players and bars. The first player also plays as its own twin."""

    cell: Load
    kind: str
    players: tuple[str, ...]
    bars: tuple[Bar, ...]
    unit: str


def _web(cell: Load, rival: str, bound: float) -> Asked:
    return Asked(cell, HTTPS, (rival, HTTPS_OURS), (Bar(HTTPS_OURS, rival, bound),), "request")


ASKED = (
    *(Asked(cell, TLS, (FLOOR, OURS), (Bar(OURS, FLOOR, 1.05),), "message")
      for cell in tls_plans.ECHO_CELLS if cell.pipeline == 1),
    _web(tls_plans.DOWNLOAD, HTTPS_FLOOR, 1.05),
    _web(tls_plans.WEB.cell("keep100"), NGINX, 0.75),
)


def _cell(context: Context, asked: Asked) -> list[Row]:
    ready = tls_common.contenders(context, asked.kind, asked.players)
    fit = [each for each in ready if each.name not in asked.cell.without]
    players = [Player(each.name, tuple(each.for_cell(asked.cell)("{host}", "{port}"))) for each in fit]
    others = tuple(each.name for each in fit if each.name not in asked.players)
    return duel_bar.judged(context, "tls_cost", duel_bar.load_of(context, "tls", asked.cell), players, asked.bars,
                           asked.unit, others)


def measure(context: Context) -> list[Row]:
    return common.in_parts({f"server CPU over TLS, {asked.cell.title}": partial(_cell, context, asked)
                            for asked in ASKED})
