# SPDX-License-Identifier: BSD-3-Clause
"""`versus quick` and `versus full`: from the options to runs.ndjson, results.json, report.html and the last line."""

import json
import shlex
import shutil
import time
from dataclasses import replace
from pathlib import Path

from versus import environment, experiments, process, roster, schedule, terminal, traces
from versus.analysis import Analysis
from versus.campaign import Campaign
from versus.experiments import RATE, Experiment
from versus.roster import Contender
from versus.runner import Runner
from versus.store import Store


class CannotCompare(RuntimeError):
    """Nothing can be compared: one sentence why."""


def _count_calls(experiment: Experiment, campaign: Campaign, progress) -> dict[str, dict[str, dict]]:
    """System calls per message by cell and contender, as far as the time goes."""
    if not experiment.trace_calls or not traces.available():
        return {}
    progress.say("counting system calls (strace, outside the measured blocks)")
    calls: dict[str, dict[str, dict]] = {}
    for cell in experiment.cells:
        if cell.threads > 1:
            continue
        for contender in (contender for contender in campaign.contenders if contender.shown):
            if campaign.time_left_s() <= 0:
                progress.say("no time left to count the other system calls")
                return calls
            found = traces.calls_per_message(contender, cell)
            if found:
                calls.setdefault(cell.name, {})[contender.name] = found
    return calls


def _commands(records: list[dict]) -> list[dict]:
    """The command lines of the first measured run of each contender in each cell."""
    seen: dict[tuple[str, str], dict] = {}
    for record in records:
        if record.get("commands") and record["block"] >= 0:
            entry = {"contender": record["contender"], "cell": record["cell"], "lines": record["commands"]}
            seen.setdefault((record["cell"], record["contender"]), entry)
    return list(seen.values())


def results_of(experiment: Experiment, contenders: list[Contender], store: Store, seed: int, about: dict,
               calls: dict) -> dict:
    """Everything the report says, as plain data."""
    records = [record for record in store.records if "contender" in record]
    analysis = Analysis(experiment, [contender.name for contender in contenders], records, seed)
    length = store.get("length") or {"duration_s": 0.0, "warmup_s": experiment.warmup_s}

    def rate(cell) -> float:
        found = store.get(f"rate/{cell.name}") if RATE in cell.modes else None
        return found["rate"] if found else 0.0

    cells = [{"name": cell.name, "title": cell.title, "size": cell.size, "connections": cell.connections,
              "threads": cell.threads, "modes": list(cell.modes), "rate": rate(cell)} for cell in experiment.cells]
    return {
        "schema": 1,
        "seed": seed,
        "experiment": {"name": experiment.name, "title": experiment.title, "blocks": experiment.blocks,
                       "duration_s": length["duration_s"], "warmup_s": length["warmup_s"], "cells": cells},
        **about,
        "contenders": [{"name": c.name, "note": c.note, "command": shlex.join(c.command), "shown": c.shown}
                       for c in contenders],
        "claims": analysis.claims(),
        "pairs": analysis.pairs(),
        "noise": analysis.noise(),
        "costs": analysis.costs(calls),
        "saturation": analysis.saturation(),
        "latency": analysis.latency(),
        "flagged": analysis.flagged(),
        "commands": _commands(records),
        "runs": records,
    }


def _shaped(experiment: Experiment, options) -> tuple[Experiment, list[str]]:
    """The experiment as the options and the fd limit leave it, and what does not fit."""
    cells, left = schedule.fitting(experiment.cells, process.raise_fd_limit())
    names = {cell.name for cell in cells}
    claims = tuple(claim for claim in experiment.claims if claim.cell in names)
    shaped = replace(experiment, cells=cells, claims=claims, blocks=options.blocks or experiment.blocks)
    if options.budget:
        shaped = replace(shaped, budget_s=options.budget, run_s=None)
    if options.run_seconds:
        shaped = replace(shaped, budget_s=None, run_s=options.run_seconds)
    return replace(shaped, trace_calls=shaped.trace_calls and not options.no_calls), left


def compare(name: str, options, command: str) -> dict:
    """Runs the experiment `name`; writes its files under options.out and returns the results. Raises CannotCompare."""
    began = time.monotonic()
    experiment, unfit = _shaped(experiments.BY_NAME[name], options)
    contenders, absent = roster.choose(options.bin, options.contender, options.only)
    program = options.bin / "peal"
    if not shutil.which(str(program)):
        raise CannotCompare(f"{program}, the load generator, is not there: run `make build` first.")
    if not contenders:
        raise CannotCompare(f"No contender can run: {'; '.join(absent)}. Run `make build` first.")
    identity = {"experiment": name, "seed": options.seed, "blocks": experiment.blocks,
                "contenders": [contender.name for contender in contenders]}
    store = Store(options.out, identity)
    progress = terminal.Progress()
    progress.say(f"seed {options.seed}; runs are kept in {options.out}/runs.ndjson")
    for line in absent + unfit:
        progress.say(f"left out: {line}")
    started = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    twin = roster.twin(contenders, options.out / "twin")
    described = environment.describe(options.bin, process.Pins.of(1).words)
    try:
        campaign = Campaign(experiment, contenders + ([twin] if twin else []), Runner(program, options.out), store,
                            options.seed, progress)
        campaign.run()
        calls = _count_calls(experiment, campaign, progress)
        progress.end()
        about = {"started": started, "elapsed_s": time.monotonic() - began, "environment": described,
                 "command": command, "left_out": absent + unfit + campaign.left_out}
        results = results_of(experiment, campaign.contenders, store, options.seed, about, calls)
    finally:
        store.close()
    _write(results, options.out)
    return results


def _write(results: dict, folder: Path) -> None:
    from versus import report  # drawing is loaded late: no matplotlib in the process that measures

    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    report.write(results, folder / "report.html")
