# SPDX-License-Identifier: BSD-3-Clause
"""Measures CPU per message of `peal load` / a bare epoll client in C. Closed loop, 64 B, against the raw epoll loop.

The two clients take turns of milliseconds, each against its own server. A restart starts all four processes again.
"""

import json
from functools import partial
from pathlib import Path

from versus.bars import common, duel_bar
from versus.bars.common import Context, Marred, Row
from versus.experiments import Cell
from versus.run import generator, process, turns

BAR = 1.2
# The length of each client's own run. Together they take twice as long, because they take turns.
RUN_S, WARMUP_S = 1.2, 0.4
LIMIT_S = 30.0
CELLS = (Cell(64, 100), Cell(64, 1000))
OURS, BARE = "peal load", "bare client"


def _our_words(context: Context, cell: Cell, server: process.Server, path: Path) -> list[str]:
    return [context.tool("peal"), "load", "pingpong", server.target, "--connections", str(cell.connections), "--size",
            str(cell.size), "--duration", f"{RUN_S}s", "--warmup", f"{WARMUP_S}s", "--server-pid", str(server.pid),
            "--json", str(path)]


def _bare_words(context: Context, cell: Cell, server: process.Server) -> list[str]:
    return [context.tool("contenders/bare_client"), server.target, "--connections", str(cell.connections), "--size",
            str(cell.size), "--duration", str(RUN_S), "--warm-up", str(WARMUP_S)]


def _restart(context: Context, cell: Cell, number: int) -> dict[str, float]:
    """Returns each client's CPU per message, in nanoseconds. Raises Marred."""
    pins = process.Pins.of(1)
    raw = context.need("raw-epoll").for_threads(1)
    path = context.out / "generator-cost.json"
    path.unlink(missing_ok=True)
    with process.serving(raw, pins.server) as one, process.serving(raw, pins.server) as other:
        servers = (one, other) if number % 2 else (other, one)
        words = {OURS: _our_words(context, cell, servers[0], path), BARE: _bare_words(context, cell, servers[1])}
        found = turns.take_turns(words, pins.client, f"{context.seed}/{cell.name}/{number}", LIMIT_S)
    for name, outcome in found.items():
        if outcome.code not in (generator.EXIT_DONE, generator.EXIT_GATE):
            raise Marred(f"{name} failed: {outcome.complaint.strip() or outcome.code}")
    return {OURS: _ours(path), BARE: _bare(found[BARE].out)}


def _ours(path: Path) -> float:
    try:
        found = generator.read(path)
    except generator.NoMeasurement as error:
        raise Marred(str(error)) from error
    if not found.messages:
        raise Marred("peal load received no answer")
    return found.client_cpu_ns / found.messages


def _bare(text: str) -> float:
    try:
        return json.loads(text)["client_cpu_ns_per_message"]
    except (ValueError, KeyError) as error:
        raise Marred(f"the bare client printed no figures: {error}") from error


def measure(context: Context) -> list[Row]:
    rows = []
    context.out.mkdir(parents=True, exist_ok=True)
    for cell in CELLS:
        context.say(f"generator cost: {cell.title}, in turns of {turns.TURN_S * 1000:.0f} ms")
        values = common.restarts(context, "generator cost", duel_bar.restarts_of(context) // 2,
                                 partial(_restart, context, cell))
        rows.append(common.ratio_row(f"client CPU per message, peal load / bare epoll client, {cell.title}", values,
                                     (OURS, BARE), BAR, f"{common.medians(values, (OURS, BARE), 3, 1e-3)} us"))
    return rows
