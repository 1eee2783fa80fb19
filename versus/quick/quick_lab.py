# SPDX-License-Identifier: BSD-3-Clause
"""`versus quick`: runs the duels and writes results.json and report.html."""

import json
import shlex
import shutil
import sys
import time
from pathlib import Path

from versus import drum, lockstep, roster
from versus.bars import http_instructions, instructions
from versus.bars.common import CannotMeasure
from versus.comparison import CannotCompare
from versus.duel import duel_runner
from versus.duel.duel_runner import Duel, NoDuel, Player
from versus.quick import quick_judge
from versus.quick.quick_plan import CELLS, CLAIMS, DuelCell, cell_named, chosen
from versus.roster import HTTP, PINGPONG
from versus.run import environment, process, server_host
from versus.run.server_host import Known, ServerHost
from versus.run.store import Store

TITLE = "The lab, quick"
BUDGET_S = 290.0
# Parts of the budget that are kept for later: the page, the drum's rounds, counting instructions.
PAGE_S, DRUM_S, INSTRUCTIONS_S = 5.0, 16.0, 30.0
SHORT_BUDGET_S = 120.0  # with less than this, the duels get all of it
DRUM = "drum"
# Figures that cannot come from another machine.
NOT_THERE = ("user instructions: not counted, because callgrind would run on this machine",)
NO_DRUM = f"{drum.TITLE}: its programs run on one machine, without a generator"
NAMES = (*(cell.name for cell in CELLS), DRUM)


class QuickLab:
    """One run of the quick lab, with its contenders and its clock."""

    def __init__(self, options, say=lambda text: print(text, file=sys.stderr, flush=True)):
        self._options = options
        self._say = say
        self._began = time.monotonic()
        self._budget_s = options.budget or BUDGET_S
        self._program = str(options.bin / "peal")
        self._host = ServerHost.of(options)
        bin_dir = self._host.bin_dir if self._host else options.bin
        everybody = roster.built_in(bin_dir) + [roster.given(text) for text in options.contender]
        given = [roster.given(text) for text in options.contender]
        twins = [contender.name for contender in given if contender.name.endswith("-twin")]
        if twins:
            raise roster.BadContender(f"'{twins[0]}' cannot be a contender's name: A/A twins have names with -twin.")
        strangers = [name for name in options.only if name not in {contender.name for contender in everybody}]
        if strangers:
            raise roster.BadContender(f"There is no contender '{strangers[0]}'.")
        self._drummers = drum.given(options.bin, options.contender)
        names = {kind: [c.name for c in given if c.kind == kind] for kind in (PINGPONG, HTTP)}
        self._known = self._host.known(roster.programs_of(everybody)) if self._host else Known()
        there = self._known.programs if self._host else None
        self._ready = {(contender.kind, contender.name): contender
                       for contender in roster.choose(bin_dir, options.contender, [], there=there)[0]}
        wanted = [name for name in options.experiments if name != DRUM]
        self.cells = chosen(wanted, names, options.only) if wanted or not options.experiments else []
        asked = DRUM in options.experiments or not (options.experiments or options.only or self._is_short())
        self.plays_drum = asked and self._host is None
        if not self.cells and not self.plays_drum:
            raise CannotCompare("No contender would play: --only and --experiments leave none.")
        if not shutil.which(self._program):
            raise CannotCompare(f"{self._program} is missing: run `make build` first, or name its folder with --bin.")
        named = {(cell.kind, name) for cell, cell_names in self.cells for name in cell_names}
        self.left_out = [f"{c.name}: {c.missing(there)}" for c in everybody
                         if (c.kind, c.name) in named and c.missing(there)]
        if self._host:
            self.left_out += [*NOT_THERE, *([NO_DRUM] if asked else [])]

    def _left_s(self) -> float:
        kept = PAGE_S + (DRUM_S if self.plays_drum else 0.0) + (INSTRUCTIONS_S if self._counts() else 0.0)
        return self._budget_s - (time.monotonic() - self._began) - kept

    def _counts(self) -> bool:
        wanted = not self._options.no_instructions and not self._is_short() and self._host is None
        return wanted and shutil.which("valgrind") is not None

    def _is_short(self) -> bool:
        return self._budget_s < SHORT_BUDGET_S

    def _players(self, cell: DuelCell, names: list[str]) -> list[Player]:
        return [Player.of(self._ready[cell.kind, name]) for name in names if (cell.kind, name) in self._ready]

    def _duels(self) -> list[Duel]:
        duels = []
        for at, (cell, names) in enumerate(self.cells):
            shares = sum(other.share for other, _ in self.cells[at:])
            budget_s = max(1.0, self._left_s() * cell.share / shares)
            players = self._players(cell, names)
            claims = [claim for claim in CLAIMS if claim.cell == cell.name]
            self._say(f"{cell.title}: {len(players)} contenders and the A/A twin, at most {budget_s:.0f} s")
            try:
                duel = duel_runner.play_all(self._program, cell.load, players, claims, budget_s, self._options.seed,
                                            self._options.out, self._host)
            except NoDuel as error:
                self.left_out.append(f"{cell.title}: {error}")
                continue
            self._say(_brief(duel))
            self.left_out += duel.left_out
            duels.append(duel)
        return duels

    def _instructions(self) -> dict[tuple[str, str], float]:
        """Returns exact user instructions per message, by kind and name, until the time is used up: peal and the floors
        first."""
        if not self._counts():
            return {}
        played = dict.fromkeys((cell.kind, name) for cell, names in self.cells for name in names
                               if (cell.kind, name) in self._ready)
        order = sorted(played, key=lambda who: ("peal" not in who[1], "raw" not in who[1]))
        until = time.monotonic() + INSTRUCTIONS_S
        self._say("counting user instructions (callgrind, outside the duels)")
        found: dict[tuple[str, str], float] = {}
        for who in order:
            if time.monotonic() >= until:
                self._say("no time left to count the other instructions")
                break
            contender = self._ready[who]
            count = instructions.per_message if contender.kind == PINGPONG else http_instructions.per_get
            try:
                found[who] = count(contender)
            except (CannotMeasure, process.StartFailed, lockstep.EchoDiffers, OSError) as error:
                self._say(f"cannot count the instructions of {contender.name}: {error}")
        return found

    def _drum(self) -> dict | None:
        if not self.plays_drum:
            return None
        given = {drummer.name: shlex.join(drummer.command) for drummer in self._drummers}
        store = Store(self._options.out / DRUM, {"seed": self._options.seed} | ({"given": given} if given else {}))
        try:
            left = max(1.0, self._budget_s - PAGE_S - (time.monotonic() - self._began))
            plan = drum.DrumPlan(drum.QUICK.cells, drum.QUICK.blocks, budget_s=left)
            return drum.run(plan, self._options.bin, store, self._options.seed, self._say, others=self._drummers)
        finally:
            store.close()

    def run(self, command: str) -> dict:
        """Runs everything. Returns the results in the format of results.json."""
        self._say(f"seed {self._options.seed}; results are written to {self._options.out}")
        started = time.strftime("%Y-%m-%d %H:%M:%S %Z")
        duels = self._duels()
        quick_judge.judge_twins(duels)
        counted = self._instructions()
        drummed = self._drum()
        played = {duel.load.name for duel in duels}
        described, where = server_host.machines(self._host, self._known,
                                                environment.describe(self._options.bin, process.Pins.of(1).words),
                                                duels[-1].found if duels else None)
        about = tuple(claim for claim in CLAIMS if claim.cell in {cell.name for cell, _ in self.cells})
        return {
            "schema": 3, "plan": {"name": "quick", "title": TITLE}, "seed": self._options.seed, "started": started,
            "command": command, "elapsed_s": time.monotonic() - self._began, "left_out": self.left_out,
            "environment": described, "two_machines": where,
            "claims": quick_judge.claims(duels, about), "then_and_now": quick_judge.then_and_now(duels),
            "elsewhere": quick_judge.elsewhere(),
            "cells": [cell_of(duel, counted) for duel in duels], "drum": drummed,
            "not_played": [cell.title for cell in CELLS if cell.name not in played],
        }


def cell_of(duel: Duel, counted: dict[tuple[str, str], float]) -> dict:
    """Returns one cell for the page and results.json. The slices stay in the duel's own file."""
    cell, found = cell_named(duel.load.name), duel.found
    rows = [row | {"instructions": counted.get((cell.kind, row["contender"]))} for row in quick_judge.costs(duel)]
    kept = ("restarts", "rounds", "slice_s", "elapsed_s", "engine", "server_cpus", "client_cpus", "gates", "twins")
    return {"name": cell.name, "title": cell.title, "experiment": cell.experiment, "unit": cell.unit,
            "floor": found["contenders"][0]["name"], "rows": rows, "command": duel.command,
            **{key: found[key] for key in kept}}


def _brief(duel: Duel) -> str:
    """Returns a line with the ratios."""
    rows = [f"{row['contender']} {row['ratio']:.3f}" for row in quick_judge.costs(duel)
            if row["ratio"] is not None and not row["floor"]]
    return (f"  {duel.found['restarts']} restarts in {duel.found['elapsed_s']:.0f} s; server CPU compared with "
            f"{duel.found['contenders'][0]['name']}: {', '.join(rows)}")


def run(options, command: str) -> dict:
    """Runs the lab, writes its files to options.out and returns the results. Raises CannotCompare."""
    process.raise_fd_limit()
    lab = QuickLab(options)
    options.out.mkdir(parents=True, exist_ok=True)
    results = lab.run(command)
    _write(results, options.out)
    return results


def _write(results: dict, folder: Path) -> None:
    from versus.page import quick_page  # imported late, so that the measuring process does not load matplotlib

    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    quick_page.write(results, folder / "report.html")
