# SPDX-License-Identifier: BSD-3-Clause
"""Made-up duels for tests, in the format of `peal load duel --json`.

A contender's cost depends only on its name. Restarts and rounds scatter around it; the scatter comes from a seed.
"""

import json
import random
import re
import sys
from pathlib import Path

from versus import fakes
from versus.duel import judge
from versus.duel.duel_figures import CPU, RATE, pair_of
from versus.duel.duel_runner import Claim, Duel, DuelLoad

COSTS_NS = {"raw-epoll": 3400.0, "peal-epoll": 3300.0, "peal-uring": 3200.0, "raw-uring": 3200.0, "libevent": 5000.0,
            "asio-per-thread": 3700.0, "libuv": 3600.0, "http-raw-epoll": 3300.0, "http-peal-epoll": 3350.0,
            "http-nginx": 4400.0, "http-libevent": 8000.0, "http-beast": 39000.0,
            "http-beast-locked": 40000.0, "raw-tls": 8000.0, "peal-tls-epoll": 8000.0, "peal-tls-uring": 8000.0,
            "libevent-tls": 12000.0, "https-raw": 8000.0, "https-peal-epoll": 9000.0, "https-nginx": 15000.0}
COLUMNS = ["restart", "round", "place", "contender", "messages", "seconds", "server_cpu_ns", "client_cpu_ns", "p50_ns",
           "p99_ns", "server_switches"]
CLIENT_NS = 3000.0
FORGETS = "blocking_process_per_connection"  # ignores SIGCHLD, so the CPU of its ended children is not known


def cost_ns(name: str) -> float:
    """Returns server CPU per message. A model whose I/O thread writes ("+io") costs more."""
    name = name.removesuffix("-twin")
    otherwise = fakes.MODEL_COST_NS.get(name.partition("+")[0], 5000.0) * (1.3 if name.endswith("+io") else 1.0)
    return COSTS_NS.get(name, otherwise)


def _slices(names: list[str], restarts: int, rounds: int, scatter: float, seed: int, short: bool) -> list[list]:
    noise = random.Random(seed)
    rows = []
    for restart in range(restarts):
        moods = {name: noise.lognormvariate(0.0, scatter / 2) for name in names}
        for round_ in range(rounds):
            shared = noise.lognormvariate(0.0, 3 * scatter)  # affects all contenders, so it cancels out in the ratios
            for at, name in enumerate(names):
                cost = cost_ns(name) * moods[name] * shared * noise.lognormvariate(0.0, scatter)
                messages = int((0.25 if short else 1.0) * 20e6 / cost)
                cpu_ns = None if short and name == FORGETS else int(messages * cost)
                rows.append([restart, round_, at, at, messages, 0.02, cpu_ns, int(messages * CLIENT_NS), 20000, 90000,
                             None if cpu_ns is None else messages // 2])
    return rows


def _pair(found: dict, metric: str, subject: str, rival: str) -> dict:
    logs = pair_of(found, metric, subject, rival).logs
    return {"metric": metric, "subject": subject, "rival": rival, "logs": list(logs), "about": "programs"}


def _claim(found: dict, text: str) -> dict:
    metric, subject, rival, sign, bar = re.fullmatch(r"(\w+): (\S+)/(\S+) ([<>]=) (\S+)", text).groups()
    return {"text": text, "side": sign, "bar": float(bar), **_pair(found, metric, subject, rival)}


def _judged(rows: list[dict]) -> list[dict]:
    """Returns the rows with the judge's answer for each row alone."""
    answers = judge.ask([judge.question(row["logs"], row["subject"], row["rival"], family=str(number),
                                        bar=row.get("bar"), side=row.get("side"))
                         for number, row in enumerate(rows)])
    return [row | answer for row, answer in zip(rows, answers)]


def _contender(name: str, first: str, restarts: int, short: bool, served: int, fault: str) -> dict:
    return {"name": name, "twin_of": first if name.endswith("-twin") else None, "bounded": False,
            "server_cpu_ns": cost_ns(name), "client_cpu_ns": CLIENT_NS,
            "messages_per_s": 100000.0, "server_share": 0.9, "client_share": 0.6, "rss_bytes": 8 << 20,
            "rss_by_restart": [8 << 20 | restart for restart in range(restarts)],
            "rss_start_by_restart": [3 << 20] * restarts, "served_by_restart": [served] * restarts,
            "hdr_by_restart": [fakes.GOLDEN] * restarts, "mean_read_bytes": 64, "fault": fault,
            "latency": {"hdr": fakes.GOLDEN}, "connect": {"hdr": fakes.GOLDEN if short else ""}}


def document(names: list[str], claims: list[str] = (), restarts: int = 16, rounds: int = 4, scatter: float = 0.02,
             seed: int = 7, short: bool = False, queueing: tuple[str, ...] = (), connections: int = 1,
             faults: dict[str, str] | None = None) -> dict:
    """Returns the JSON of a duel of `names` and the twin. With `short`, each request has its own connection. Contenders
    in `queueing` serve one connection at a time unless `short`. Contenders in `faults` could not play."""
    names, faults = [*names, f"{names[0]}-twin"], faults or {}
    slices = [row for row in _slices(names, restarts, rounds, scatter, seed, short) if names[row[3]] not in faults]
    found = {"schema": 1, "tool": "peal load duel", "restarts": restarts, "rounds": rounds, "slice_s": 0.02,
             "elapsed_s": restarts * 1.5, "engine": "epoll", "server_cpus": [0], "client_cpus": [1],
             "slice_columns": COLUMNS, "slices": slices,
             "gates": [{"verdict": "INVALID", "sentence": f"{name}: it was left out; {fault}"}
                       for name, fault in faults.items()]}
    found["contenders"] = [
        _contender(name, names[0], restarts, short, 1 if name in queueing and not short else connections,
                   faults.get(name, "")) for name in names]
    pairs = [_pair(found, metric, name, names[0]) for metric in (CPU, RATE) for name in names[1:-1]]
    twins = [_pair(found, metric, names[-1], names[0]) for metric in (CPU, RATE)]
    judged = _judged([*pairs, *twins, *(_claim(found, text) for text in claims)])
    found["pairs"], judged = judged[:len(pairs)], judged[len(pairs):]
    found["twins"], found["claims"] = judged[:len(twins)], judged[len(twins):]
    return found


def duel(load: DuelLoad, names: tuple[str, ...], claims: tuple[Claim, ...] = (), **more) -> Duel:
    """Returns a duel of `names` with the claims about them."""
    words = [claim.words for claim in claims if {claim.subject, claim.rival} <= set(names)]
    return Duel(load, f"peal load duel {load.kind}", document(list(names), words, **more))


def load_duel(words: list[str]) -> int:
    """Acts as `peal load duel ...`: writes made-up figures at once."""

    def every(name: str) -> list[str]:
        return [words[at + 1] for at, word in enumerate(words) if word == name]

    names = [run.partition("=")[0] for run in every("--run")]
    faults = {name: f"{name}: the server ended by itself: exit code 1" for name, run in zip(names, every("--run"))
              if "/bin/false" in run or "io_uring" in run and "model run" in run}
    if faults and "--in-turn" not in words:
        print(f"peal: {next(iter(faults.values()))}", file=sys.stderr)
        return 1
    found = document(names, every("--claim"), int(every("--restarts")[0]), int(every("--rounds")[0]),
                     short=every("--requests-per-connection") == ["1"], queueing=tuple(every("--expect-queueing")),
                     connections=int(every("--connections")[0]), faults=faults)
    if "--live" in words:
        for restart in range(found["restarts"]):
            print(f"restart {restart + 1} of {found['restarts']}, round 1 of 1, 1.0 s of 9.0 s", file=sys.stderr)
    if "--server-host" in words:
        found["server_host"] = {"name": every("--server-host")[0], "address": "127.0.0.1", "kernel": "Linux",
                                "processor": "", "cpus": 4, "is_here": False, "elapsed_s": 10.0, "stolen_s": 0.0,
                                "foreign_s": 0.2}
    Path(every("--json")[0]).write_text(json.dumps(found), encoding="utf-8")
    return 0


# A fake `peal` that supports only duels.
PROGRAM = f"""#!{fakes.PYTHON} -ISE
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent.parent)!r})
sys.path.append("/usr/lib/python3/dist-packages")
from versus.duel.duel_fakes import load_duel
sys.exit(load_duel(sys.argv[1:]))
"""
