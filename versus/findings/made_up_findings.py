# SPDX-License-Identifier: BSD-3-Clause
"""Results made up for the tests of findings: speeds in, verdicts out."""

import random

from versus.findings import published_findings

BLOCKS = 8


def cell(name: str, **more) -> dict:
    return {"name": name, "title": name, "modes": ["closed"], "threads": 1, "connections": 100, "short": False,
            "size": 0} | more


def experiment(name: str, cells: list[dict], speeds: dict, costs_ns: dict | None = None, **more) -> dict:
    """Results of one experiment; `speeds` is {(cell, contender): messages/s}, each run within 1 % of it; `costs_ns` is
    the server CPU a message of who has not 1 / speed."""
    noise = random.Random(7)
    runs, saturation = [], []
    for (where, who), speed in speeds.items():
        values = [speed * noise.uniform(0.99, 1.01) for _ in range(BLOCKS)]
        cost = (costs_ns or {}).get((where, who), 1e9 / speed)
        for block, value in enumerate(values):
            runs.append({"cell": where, "mode": "closed", "contender": who, "block": block, "status": "ok",
                         "figures": {"messages_per_s": value, "mib_per_s": value,
                                     "server_cpu_ns": cost * noise.uniform(0.99, 1.01)}})
        saturation.append({"cell": where, "contender": who, "never_saturated": False, "lower_bound": False,
                           "least": min(values), "most": max(values), "mean": speed, "messages_per_s": speed,
                           "server_share": 0.97, "server_percent": {"least": 97.0, "most": 99.0, "mean": 98.0},
                           "rss_bytes": {"least": 1 << 20, "most": 2 << 20, "mean": 1.5 * (1 << 20)}})
    contenders = [{"name": who, "shown": True} for who in dict.fromkeys(who for _, who in speeds)]
    return {"name": name, "cells": cells, "runs": runs, "saturation": saturation, "contenders": contenders,
            "costs": [], "twin": "peal-epoll-twin"} | more


def found(*experiments, **more) -> list[dict]:
    """The findings of these experiments."""
    return published_findings.of({"experiments": list(experiments), "drum": None} | more)


def verdict_of(rows: list[dict], words: str) -> tuple[str, str]:
    """(verdict, figure) of the first finding whose sentence has these words."""
    row = next(row for row in rows if words in row["sentence"])
    return row["verdict"], row["figure"]
