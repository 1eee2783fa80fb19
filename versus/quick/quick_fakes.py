# SPDX-License-Identifier: BSD-3-Clause
"""Duels that were never played, as `peal load duel --json` would write them: for the tests of the quick lab.

What a contender costs depends on its name alone; restarts and rounds scatter about it, from a seed.
"""

import json
import math
import random
import sys
from pathlib import Path

from scipy import stats as scipy_stats

from versus.quick import quick_judge
from versus.quick.duel_runner import Duel
from versus.quick.quick_plan import CLAIMS, CPU, RATE, DuelCell

COSTS_NS = {"raw-epoll": 3400.0, "peal-epoll": 3300.0, "peal-uring": 3200.0, "raw-uring": 3200.0, "libevent": 5000.0,
            "asio-per-thread": 3700.0, "libuv": 3600.0, "http-raw-epoll": 3300.0, "http-peal-epoll": 3350.0,
            "http-nginx": 4400.0, "http-libevent": 8000.0}
COLUMNS = ["restart", "round", "place", "contender", "messages", "seconds", "server_cpu_ns", "client_cpu_ns", "p50_ns",
           "p99_ns"]
CLIENT_NS = 3000.0


def _slices(names: list[str], restarts: int, rounds: int, scatter: float, seed: int) -> list[list]:
    noise = random.Random(seed)
    rows = []
    for restart in range(restarts):
        moods = {name: noise.lognormvariate(0.0, scatter / 2) for name in names}
        for round_ in range(rounds):
            shared = noise.lognormvariate(0.0, 3 * scatter)  # falls on all, and out of the ratios
            for at, name in enumerate(names):
                cost = COSTS_NS.get(name.removesuffix("-twin"), 5000.0) * moods[name] * shared
                cost *= noise.lognormvariate(0.0, scatter)
                messages = int(20e6 / cost)
                rows.append([restart, round_, at, at, messages, 0.02, int(messages * cost), int(messages * CLIENT_NS),
                             20000, 90000])
    return rows


def _p(logs: list[float], bound: float) -> float:
    return float(scipy_stats.ttest_1samp(logs, math.log(bound)).pvalue)


def _pair(found: dict, metric: str, subject: str, rival: str) -> dict:
    logs = quick_judge.restart_logs(found, metric, subject, rival)
    row = {"metric": metric, "subject": subject, "rival": rival, "logs": logs, **quick_judge.estimate(logs)}
    p = _p(logs, 1.0)
    told = p < 0.005 and abs(row["ratio"] - 1.0) > 0.01
    return row | {"p": p, "p_adjusted": p, "why": "", "about": "programs",
                  "verdict": ("less" if row["ratio"] < 1 else "more") if told else "level"}


def document(names: list[str], claims: list[str] = (), restarts: int = 16, rounds: int = 4, scatter: float = 0.02,
             seed: int = 7) -> dict:
    """The JSON of a duel of `names`, the twin added."""
    names = [*names, f"{names[0]}-twin"]
    found = {"schema": 1, "tool": "peal load duel", "restarts": restarts, "rounds": rounds, "slice_s": 0.02,
             "elapsed_s": restarts * 1.5, "engine": "epoll", "server_cpus": [0], "client_cpus": [1],
             "slice_columns": COLUMNS, "slices": _slices(names, restarts, rounds, scatter, seed), "gates": []}
    found["contenders"] = [
        {"name": name, "twin_of": names[0] if name.endswith("-twin") else None, "bounded": False,
         "server_cpu_ns": COSTS_NS.get(name.removesuffix("-twin"), 5000.0), "client_cpu_ns": CLIENT_NS,
         "messages_per_s": 100000.0, "rss_bytes": 8 << 20} for name in names]
    found["pairs"] = [_pair(found, metric, name, names[0]) for metric in (CPU, RATE) for name in names[1:-1]]
    found["twins"] = [_pair(found, metric, names[-1], names[0]) for metric in (CPU, RATE)]
    found["claims"] = []
    for text in claims:
        claim = next(claim for claim in CLAIMS if claim.words == text)
        logs = quick_judge.restart_logs(found, CPU, claim.subject, claim.rival)
        found["claims"].append({"text": text, "metric": CPU, "subject": claim.subject, "rival": claim.rival,
                                "p": _p(logs, claim.bar), "why": "", **quick_judge.estimate(logs)})
    return found


def duel(cell: DuelCell, names: tuple[str, ...] = (), **more) -> Duel:
    """A duel of everybody in the cell, or of `names`, with the claims about them."""
    names = names or cell.contenders
    claims = [c.words for c in CLAIMS if c.cell == cell.name and {c.subject, c.rival} <= set(names)]
    return Duel(cell, f"peal load duel {cell.kind}", document(list(names), claims, **more))


def load_duel(words: list[str]) -> int:
    """`peal load duel ...`: writes made-up figures at once."""

    def every(name: str) -> list[str]:
        return [words[at + 1] for at, word in enumerate(words) if word == name]

    names = [run.partition("=")[0] for run in every("--run")]
    broken = next((run.partition("=")[0] for run in every("--run") if "/bin/false" in run), None)
    if broken:
        print(f"peal: {broken}: the server ended by itself: exit code 1", file=sys.stderr)
        return 1
    Path(every("--json")[0]).write_text(json.dumps(document(names, every("--claim"))), encoding="utf-8")
    return 0
