# SPDX-License-Identifier: BSD-3-Clause
"""Makes the results of one experiment for results.json, from the records of its duels."""

import shlex

from versus import analysis
from versus.models import model_analysis, model_roster
from versus.run import process
from versus.experiments import RATE, Experiment
from versus.roster import MODEL, Contender
from versus.run.store import Store


def _commands(records: list[dict]) -> list[dict]:
    """Returns the command lines of each contender's first duel in each cell."""
    seen: dict[tuple[str, str], dict] = {}
    for record in records:
        if record.get("commands") and record["block"] >= 0:
            entry = {"contender": record["contender"], "cell": record["cell"], "lines": record["commands"]}
            seen.setdefault((record["cell"], record["contender"]), entry)
    return list(seen.values())


def of(experiment: Experiment, contenders: list[Contender], store: Store, calls: dict,
               placement: str = "") -> dict:
    """Returns all results of one experiment as plain data; its claims have no verdicts yet. `placement` says which CPUs
    server and client had, if this machine cannot tell."""
    records = [record for record in store.records if record.get("experiment") == experiment.name]
    analysed = analysis.Analysis(experiment, [contender.name for contender in contenders], records)

    def rate(cell) -> float:
        found = store.get(f"rate/{experiment.name}/{cell.name}") if RATE in cell.modes else None
        return found["rate"] if found else 0.0

    shown = [contender for contender in contenders if contender.shown]
    cells = [cell.facts() | {
              "name": cell.name, "title": cell.title, "size": cell.size, "connections": cell.connections,
              "threads": cell.threads, "client_threads": cell.generator_threads,
              "short": getattr(cell, "short", False), "modes": list(cell.modes), "rate": rate(cell),
              "unfit": {c.name: why for c in shown if model_roster.is_meant(c, cell) and (why := c.unfit_for(cell))},
              "placement": placement or process.Pins.of(cell.threads, cell.generator_threads).words}
             for cell in experiment.cells]
    found = {
        "name": experiment.name, "title": experiment.title, "kind": experiment.kind, "unit": experiment.unit,
        "note": experiment.note, "classic": experiment.classic, "twin": experiment.twin_name,
        "twin_of": experiment.twin_of, "how": how_played(experiment, records), "cells": cells,
        "contenders": [c.facts() | {"name": c.name, "note": c.note, "command": shlex.join(c.command), "shown": c.shown}
                       for c in contenders],
        "claims": analysed.claims(),
        "pairs": analysed.pairs(),
        "noise": analysed.noise(),
        "costs": analysed.costs(calls),
        "saturation": analysed.saturation(),
        "latency": analysed.latency(),
        "flagged": analysed.flagged(),
        "commands": _commands(records),
        "runs": records,
    }
    return found | ({"rows": model_analysis.rows(found)} if experiment.kind == MODEL else {})


def how_played(experiment: Experiment, records: list[dict]) -> str:
    """Returns one or two sentences about how the figures were measured."""
    duels = experiment.duels
    measured = [record for record in records if "figures" in record and record["block"] >= 0]
    alone = {record["cell"]: record["figures"]["turn_s"] for record in measured if record["figures"]["turn_s"]}
    told = []
    if any(record["cell"] not in alone for record in measured):
        told.append(f"By duel: at most {duels.restarts} restarts of {duels.rounds} rounds. At a fixed rate: at most "
                    f"{duels.rated_restarts} restarts of {duels.rated_rounds} rounds, with "
                    f"slices of {duels.rated_slice_s * 1000:.0f} ms.")
    if alone:
        titles = "; ".join(f"{cell.title}: {alone[cell.name] * 1000:.0f} ms" for cell in experiment.cells
                           if cell.name in alone)
        told.append(f"One contender at a time, in {duels.turns} restarts, because they cannot all play at once. "
                    f"Each contender played this long in a restart: {titles}.")
    return " ".join(told)


def judged(experiments: list[dict]) -> list[dict]:
    """Returns the experiments with the verdicts of their claims. All claims are one family for the whole page."""
    analysis.judge_together([claim for experiment in experiments for claim in experiment["claims"]])
    return experiments
