# SPDX-License-Identifier: BSD-3-Clause
"""Makes up the results of a whole plan without starting a process: for the tests of the page."""

import json
import random
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from unittest import mock

from versus import cli, comparison, drum, experiment_results, fakes, plans, roster
from versus.drum import DrumCell, Drummer, DrumPlan
from versus.duel import duel_campaign, duel_fakes
from versus.duel.duel_records import Played, records_of
from versus.duel.duel_runner import Duel
from versus.findings import published_findings
from versus.page import figures
from versus.models import model_findings, model_plans, model_roster
from versus.experiments import CLOSED, RATE, Cell, Experiment, HttpCell, Load, Plan
from versus.roster import MODEL, Contender
from versus.run.store import Store

# One to three cells of each experiment of the full lab, and less time.
PINGPONG = replace(plans.FULL_PINGPONG, cells=(Cell(64, 1, modes=(CLOSED,)), Cell(64, 1000), Cell(16384, 100)),
                   budget_s=170.0, share=0.56, classic="",
                   contenders=("raw-epoll", "raw-uring", "libevent", "asio-per-thread", "libuv", "peal-epoll",
                               "peal-uring"))
REST = replace(plans.FULL_REST, cells=(HttpCell(100, modes=(RATE, CLOSED)),), claims=plans.http_costs("keep100"),
               budget_s=42.0, share=0.16, trace_calls=False, classic="",
               contenders=("http-peal-epoll", "http-raw-epoll", "http-nginx", "http-libevent"))
PAGES = replace(REST, name="pages", title=plans.FULL_PAGES.title, cells=(HttpCell(100, short=True), HttpCell(100)),
                claims=plans.http_speeds("short100", "keep100"), share=0.17, unit="page",
                contenders=(*REST.contenders, "http-peal-epoll-unpooled"))
SMALL = Plan("full", "The lab, full", (PINGPONG, REST, PAGES), budget_s=292.0, drum=drum.FULL, drum_share=0.11)

DRUMMERS = {"peal-epoll": 2.0, "peal-uring": 2.1, "raw-epoll": 1.9, "libevent": 3.0, "libev": 2.2}

NOISE = 0.02
RATES = {roster.PINGPONG: 20000.0, roster.HTTP: 10000.0, MODEL: 10000.0}
FD_LIMIT, RESTARTS = 20_000, 8


def instead(plan: Plan):
    """Replaces the plan of the same name while the block runs."""
    return mock.patch.dict(plans.BY_NAME, {plan.name: plan})


def small():
    return instead(SMALL)


def undrawn():
    """Omits the pictures of report pages while the block runs, because drawing takes most of the time."""
    return mock.patch.object(figures, "_inline", lambda *_: "")


def played(folder: Path, *words: str, out: str = "out") -> dict:
    """Runs a lab that must succeed, with the programs in folder/bin. Returns its results; its files are in
    folder/`out`."""
    with undrawn():
        assert cli.main([*words, "--bin", str(folder / "bin"), "--out", str(folder / out)]) == cli.DONE
    return json.loads((folder / out / "results.json").read_text())


def bench_rows(folder: Path, figure: str) -> list[dict]:
    """Runs one figure of the bench with the programs in folder/bin. Returns its rows."""
    words = ["bench", "--only", figure, "--bin", str(folder / "bin"), "--out", str(folder / "out"), "--seed", "1",
             "--blocks", "4"]
    assert cli.main(words) == cli.DONE
    return json.loads((folder / "out" / "bench.json").read_text())["rows"]


def _contender(name: str) -> Contender:
    return Contender(name, (f"build/release/bin/contenders/{name}", "--listen", "{listen}"), "made up")


def model_contenders(everything: bool = False) -> list[Contender]:
    """Returns the rows of the models that a fake program lists. No program is started."""
    return model_roster.rows_of(fakes.listed_models(), Path("build/release/bin/peal"), everything)


def _records(experiment: Experiment, cell: Load, mode: str, contenders: list[Contender], first_block: int,
             seed: int) -> list[dict]:
    """Returns the records of a made-up duel. A gate marks the second contender."""
    here = sorted((c for c in contenders if c.shown and experiment.runs_here(c.name, cell)),
                  key=lambda contender: contender.name != experiment.twin_of)
    if not here:
        return []
    rate = RATES[experiment.kind] if mode == RATE else 0.0
    played = Played(experiment.name, cell, mode, rate, first_block, 1.7e9, tuple(here))
    load = duel_campaign.load_of(experiment.name, cell, experiment.duels, mode, rate)
    if not duel_campaign.fit_together(cell, played.contenders, FD_LIMIT):
        load = duel_campaign.in_turn(load, cell, played.contenders, mode, experiment.duels.turns, 0.6)
    names = [contender.name for contender in here]
    found = duel_fakes.document(names, restarts=min(load.restarts, RESTARTS), rounds=load.rounds, seed=seed,
                                short=getattr(cell, "short", False), queueing=load.queueing,
                                connections=cell.connections)
    found["gates"] = [{"verdict": "NOISY", "sentence": f"{name}: it uses 12 % of a core while nobody asks for anything"}
                      for name in names[1:2]]
    return records_of(Duel(load, "peal load duel --json duel.json", found), played)


def _fill(store: Store, experiment: Experiment, contenders: list[Contender], seed: int) -> None:
    for cell in experiment.cells:
        store.add({"key": f"rate/{experiment.name}/{cell.name}", "rate": RATES[experiment.kind]})
        if CLOSED not in cell.modes:
            store.add_all(_records(experiment, cell.closed(), CLOSED, contenders, -1, seed))
        for mode in cell.modes:
            store.add_all(_records(experiment, cell, mode, contenders, 0, seed))


def drum_records(plan: DrumPlan, drummers: list[Drummer], loop_ns: Callable[[DrumCell, str], float],
                 seed: int = 1) -> list[dict]:
    """Returns records of drummers whose loop takes loop_ns() in a cell. Registering takes half as long."""
    done = []
    for block in range(plan.blocks):
        for cell, drummer in drum.order(plan, block, drummers, seed):
            loop = loop_ns(cell, drummer.name)
            rounds = [{"total_ns": 1.5 * loop, "loop_ns": loop, "waits": 20, "events": cell.receives,
                       "receives": cell.receives}] * plan.rounds
            figures = drum.figures_of({"active": cell.active, "writes": cell.writes, "rounds": rounds})
            done.append(asdict(cell) | {"cell": cell.name, "block": block, "contender": drummer.name, "status": "ok",
                                        "gates": [], "library": "made up", "figures": figures,
                                        "commands": ["drum -n 1000"]})
    return done


def drum_results(seed: int) -> dict:
    """Returns made-up results of the drum."""
    noise = random.Random(seed)

    def loop_ns(cell: DrumCell, name: str) -> float:
        return DRUMMERS[name] * cell.receives * 500 * (1 + cell.timeouts) * noise.lognormvariate(0.0, NOISE)

    plan = replace(drum.QUICK, rounds=3)
    drummers = [Drummer(name, (f"build/release/bin/drum_{name}",), "made up") for name in DRUMMERS]
    return drum.results(plan, drummers, drum_records(plan, drummers, loop_ns, seed), seed, [])


def results(folder: Path, plan: Plan = SMALL, seed: int = 7) -> dict:
    """Returns made-up results of `plan`. `folder` holds its store."""
    store = Store(folder, {"seed": seed})
    done = []
    for experiment in plan.experiments:
        if experiment.kind == MODEL:
            contenders = [c for c in model_contenders(plan.name == model_plans.FULL.name)
                          if (c.name in experiment.contenders if experiment.contenders else c.usual)]
            twin_of = next(c for c in contenders if c.name == experiment.twin_of)
            contenders.append(replace(twin_of, name=experiment.twin_name, shown=False))
            experiment = comparison.placed(experiment, contenders)
        else:
            contenders = [_contender(name) for name in experiment.contenders or duel_fakes.COSTS_NS]
            contenders.append(replace(_contender(experiment.twin_name), shown=False))
        _fill(store, experiment, contenders, seed)
        calls = {cell.name: {c.name: {"epoll_wait": 0.1, "recvfrom": 1.0, "sendto": 1.0} for c in contenders}
                 for cell in experiment.cells if CLOSED not in cell.modes}
        done.append(experiment_results.of(experiment, contenders, store, calls))
    store.close()
    made = {"schema": 2, "seed": seed, "plan": {"name": plan.name, "title": plan.title}, "started": "2026-01-01 00:00",
            "elapsed_s": 290.0, "environment": {"Kernel": "Linux", "Processor": "a made-up one"},
            "command": "python3 -m versus full", "left_out": ["http-go: the Go toolchain is not there"],
            "experiments": experiment_results.judged(done), "drum": drum_results(seed) if plan.drum else None}
    return made | {"findings": (model_findings if plan.name in model_plans.PLANS else published_findings).of(made)}
