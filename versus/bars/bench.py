# SPDX-License-Identifier: BSD-3-Clause
"""`versus bench`: the table of bars, each figure by its own module."""

import json
import sys
from functools import partial

from versus import stats, terminal
from versus.run import process
from versus.bars import (
    awaits,
    churn,
    common,
    cost_ratio,
    generator_cost,
    http_attack,
    http_fairness,
    http_generator,
    http_instructions,
    http_memory,
    http_rate,
    http_serve,
    http_static,
    idle_memory,
    instructions,
    live_view,
    model_cost,
    send_lag,
    spin,
    tls_burst,
    tls_cost,
    tls_crowd,
    tls_instructions,
    tls_memory,
)
from versus.bars.common import Context, Row

FIGURES = {
    "cost_ratio": cost_ratio,
    "instructions": instructions,
    "awaits": awaits,
    "idle_memory": idle_memory,
    "spin": spin,
    "churn": churn,
    "generator_cost": generator_cost,
    "http_generator": http_generator,
    "send_lag": send_lag,
    "http_rate": http_rate,
    "live_view": live_view,
    "model_cost": model_cost,
    "http_instructions": http_instructions,
    "http_serve": http_serve,
    "http_memory": http_memory,
    "http_static": http_static,
    "http_attack": http_attack,
    "http_fairness": http_fairness,
    "tls_cost": tls_cost,
    "tls_instructions": tls_instructions,
    "tls_burst": tls_burst,
    "tls_memory": tls_memory,
    "tls_crowd": tls_crowd,
}


class UnknownFigure(ValueError):
    """A figure that is not in the table was asked for."""


def names() -> list[str]:
    return list(FIGURES)


def run(options, command: str) -> int:
    """Measures the figures asked for and prints their table; 1 when none could be measured."""
    for name in options.only:
        if name not in FIGURES:
            raise UnknownFigure(f"There is no figure '{name}'; there are {', '.join(FIGURES)}.")
    process.raise_fd_limit()
    options.out.mkdir(parents=True, exist_ok=True)
    context = Context(options.bin, options.out, options.seed, options.blocks, options.all, options.contender)
    print(f"seed {options.seed}; {process.Pins.of(1).words}", file=sys.stderr)
    rows: list[Row] = []
    for name in options.only or FIGURES:
        rows += common.rows_or_why(name, partial(FIGURES[name].measure, context))
    header = ["figure", "bar", "measured (95 % interval)", "verdict"]
    print(terminal.table(header, [[row.figure, row.bar, row.measured, row.verdict] for row in rows], "<<<<"))
    path = options.out / "bench.json"
    results = {"schema": 1, "command": command, "seed": options.seed, "rows": [row.as_dict() for row in rows]}
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"\n{path.resolve()}")
    return 0 if any(row.verdict != stats.NOT_MEASURED for row in rows) else 1
