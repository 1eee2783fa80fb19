# SPDX-License-Identifier: BSD-3-Clause
"""`versus bench`: prints the table of bars. Each figure has its own module."""

import json
import sys
from functools import partial

from versus import stats, terminal
from versus.run import process
from versus.bars import (awaits, calls, churn, common, cost_ratio, framing, generator_cost, http_attack,
                         http_fairness, http_generator, http_instructions, http_memory, http_rate, http_serve,
                         http_static, idle_memory, instructions, live_view, metrics, model_cost, send_lag, spin,
                         tls_burst, tls_cost, tls_crowd, tls_instructions, tls_memory)
from versus.bars.common import Context
from versus.figures import figures

# The modules by name, in the order of the table.
FIGURES = {module.__name__.rpartition(".")[2]: module for module in (
    cost_ratio, instructions, framing, calls, awaits, metrics, idle_memory, spin, churn, generator_cost,
    http_generator, send_lag, http_rate, live_view, model_cost, http_instructions, http_serve, http_memory, http_static,
    http_attack, http_fairness, tls_cost, tls_instructions, tls_burst, tls_memory, tls_crowd)}


class UnknownFigure(ValueError):
    """The command line names a figure that is not in the table."""


def names() -> list[str]:
    return list(FIGURES)


def run(options, command: str) -> int:
    """Measures the figures that were asked for and prints their table. Returns 1 if none could be measured."""
    for name in options.only:
        if name not in FIGURES:
            raise UnknownFigure(f"There is no figure '{name}'. The figures are {', '.join(FIGURES)}.")
    process.raise_fd_limit()
    options.out.mkdir(parents=True, exist_ok=True)
    context = Context(options.bin, options.out, options.seed, options.blocks, options.all, options.contender)
    print(f"seed {options.seed}; {process.Pins.of(1).words}", file=sys.stderr)
    names_asked = options.only or list(FIGURES)
    by_name = {name: common.in_parts({name: partial(FIGURES[name].measure, context)}) for name in names_asked}
    rows = [row for name in names_asked for row in by_name[name]]
    header = ["figure", "bar", "measured (95 % interval)", "verdict"]
    print(terminal.table(header, [[row.figure, row.bar, row.measured, row.verdict] for row in rows], "<<<<"))
    path = options.out / "bench.json"
    results = {"schema": 1, "command": command, "seed": options.seed, "rows": [row.as_dict() for row in rows]}
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"\n{path.resolve()}")
    if options.record:
        figures.record_bars({name: [row.as_dict() for row in found] for name, found in by_name.items()})
    return 0 if any(row.verdict != stats.NOT_MEASURED for row in rows) else 1
