# SPDX-License-Identifier: BSD-3-Clause
"""CPU per message of peal load / of a bare epoll client in C, closed loop at 64 B against the raw epoll loop."""

import json
import statistics
import tempfile
from pathlib import Path

from versus.run import generator, process
from versus.bars import common
from versus.bars.common import CannotMeasure, Context, Row
from versus.experiments import CLOSED, Cell

BAR = 1.2
RUN_S, WARMUP_S = 0.8, 0.2
CELLS = (Cell(64, 100), Cell(64, 1000))


def _bare(context: Context, cell: Cell, server: process.Server, cpus: tuple[int, ...]) -> float:
    words = [context.tool("contenders/bare_client"), server.target, "--connections", str(cell.connections), "--size",
             str(cell.size), "--duration", str(RUN_S), "--warm-up", str(WARMUP_S)]
    return common.json_of(words, cpus, RUN_S + 20.0)["client_cpu_ns_per_message"]


def _ours(context: Context, cell: Cell, server: process.Server, cpus: tuple[int, ...]) -> float:
    with tempfile.TemporaryDirectory(prefix="versus-load-") as folder:
        path = Path(folder) / "run.json"
        words = generator.command(context.tool("peal"), server.target, cell, CLOSED, RUN_S, WARMUP_S, server.pid, path)
        outcome = process.run(words, cpus, RUN_S + 20.0)
        if outcome.code not in (generator.EXIT_DONE, generator.EXIT_GATE):
            raise CannotMeasure(f"peal load failed: {outcome.complaint or outcome.code}")
        found = generator.read(path)
        return found.client_cpu_ns / max(1, found.messages)


def _once(context: Context, cell: Cell, client) -> float:
    pins = process.Pins.of(1)
    raw = context.need("raw-epoll")
    with process.serving(raw.for_threads(1), pins.server) as server:
        return client(context, cell, server, pins.client)


def measure(context: Context) -> list[Row]:
    rows = []
    for cell in CELLS:
        context.say(f"generator cost: {cell.title}")
        variants = {"peal load": lambda cell=cell: _once(context, cell, _ours),
                    "bare client": lambda cell=cell: _once(context, cell, _bare)}
        try:
            values = common.paired(context, f"generator/{cell.name}", variants)
        except (generator.NoMeasurement, json.JSONDecodeError) as error:
            raise CannotMeasure(str(error)) from error
        pair = common.pair_of(context, values, "peal load", "bare client")
        middle = {name: statistics.median(by_block.values()) for name, by_block in values.items()}
        measured = f"{common.span(pair)}; " + " / ".join(f"{value / 1e3:.3f}" for value in middle.values()) + " us"
        rows.append(Row(f"client CPU per message, peal load / bare epoll client, {cell.title}", f"<= {BAR}", measured,
                        common.at_most(pair, BAR), common.ratio_data(pair, values)))
    return rows
