# SPDX-License-Identifier: BSD-3-Clause
"""`versus quick`: runs the duels and writes results.json and report.html."""

import json
import shlex
import shutil
import time
from pathlib import Path

from versus import drum, lockstep, roster
from versus.bars import http_instructions, instructions
from versus.bars.common import CannotMeasure
from versus.comparison import CannotCompare
from versus.duel import duel_runner
from versus.duel.duel_runner import Duel, NoDuel, Player
from versus.quick import quick_judge, quick_screen
from versus.page.verdict import SPOKEN
from versus.quick.quick_plan import CELLS, DuelCell, DuelClaim, cell_named, chosen, claims_in
from versus.quick.quick_progress import Progress, RatioRow, Step
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
INSTRUCTIONS, PAGE = "instructions", "page"  # the names of these steps
# Figures that cannot come from another machine.
NOT_THERE = ("user instructions: not counted, because callgrind would run on this machine",)
NO_DRUM = f"{drum.TITLE}: its programs run on one machine, without a generator"
NAMES = (*(cell.name for cell in CELLS), DRUM)


class QuickLab:
    """One run of the quick lab, with its contenders and its clock. `progress` says how far it is."""

    def __init__(self, options):
        self._options = options
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
        self.progress = Progress(self._steps(), self._budget_s)
        self.is_live = False  # a view shows the progress
        self._say = self.progress.say

    def _steps(self) -> list[Step]:
        steps = []
        for cell, names in self.cells:
            players = [player.name for player in self._players(cell, names)]
            rows = [RatioRow(claim.subject, claim.rival, claim.bar) for claim in claims_in(cell.name)
                    if {claim.subject, claim.rival} <= set(players)]
            rows = rows or [RatioRow(name, players[0]) for name in players[1:] if name in quick_judge.PEALS][:1]
            steps.append(Step(cell.name, cell.words, "", share=cell.share, restarts=cell.restarts, rows=rows,
                              least_s=cell.load.least_s(len(players))))
        if self._counts():
            steps.append(Step(INSTRUCTIONS, "user instructions of a message",
                              "callgrind counts them, those of peal and of the bare loops first.", INSTRUCTIONS_S))
        if self.plays_drum:
            steps.append(Step(DRUM, "drum passing", "Each program passes bytes round a ring of socket pairs.",
                              DRUM_S, fills=True))
        return [*steps, Step(PAGE, "the report page", "Its pictures are drawn.", PAGE_S)]

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
            self.progress.begin(cell.name, budget_s, _about(cell, players))
            self._say(f"{cell.title}: {len(players)} contenders and the A/A twin, at most {budget_s:.0f} s")
            try:
                duel = duel_runner.play_all(self._program, cell.load, players, claims_in(cell.name), budget_s,
                                            self._options.seed, self._options.out, self._host,
                                            self._on_restart if self.is_live else None)
            except NoDuel as error:
                self.progress.end(cell.name, "could not be played")
                self.left_out.append(f"{cell.title}: {error}")
                continue
            self.progress.end(cell.name, _length(duel))
            self._say(_brief(duel))
            self.left_out += duel.left_out
            duels.append(duel)
            self._decide(duels)
        return duels

    def _on_restart(self, line: str) -> None:
        self.progress.on_restart(line)
        step = self.progress.now
        self.progress.detail(f"restart {step.restart} of at most {step.restarts}")

    def _decide(self, duels: list[Duel]) -> None:
        """Tells the progress how the ratios stand. Each duel may decide claims of earlier ones, because p is corrected
        for the claims of all cells together."""
        claims = {(claim["cell"], claim["subject"], claim["rival"]): claim
                  for claim in quick_judge.claims(duels, self._about())}
        for duel in duels:
            costs = {row["contender"]: row | {"verdict": row["says"]} for row in quick_judge.costs(duel)}
            for row in self.progress.step(duel.load.name).rows:
                found = claims[duel.load.name, row.subject, row.rival] if row.bar else costs.get(row.subject)
                if found:
                    row.ratio, row.low, row.high = found["ratio"], found["low"], found["high"]
                    row.verdict = SPOKEN.get(found["verdict"], found["verdict"])

    def _about(self) -> tuple[DuelClaim, ...]:
        """Returns the claims about the cells that were asked for."""
        return tuple(claim for cell, _ in self.cells for claim in claims_in(cell.name))

    def _instructions(self) -> dict[tuple[str, str], float]:
        """Returns exact user instructions per message, by kind and name, until the time is used up: peal and the floors
        first."""
        if not self._counts():
            return {}
        played = dict.fromkeys((cell.kind, name) for cell, names in self.cells for name in names
                               if (cell.kind, name) in self._ready)
        order = sorted(played, key=lambda who: ("peal" not in who[1], "raw" not in who[1]))
        self.progress.begin(INSTRUCTIONS)
        until = time.monotonic() + INSTRUCTIONS_S
        self._say("counting user instructions (callgrind, outside the duels)")
        found: dict[tuple[str, str], float] = {}
        for who in order:
            if time.monotonic() >= until:
                self._say("no time left to count the other instructions")
                break
            contender = self._ready[who]
            self.progress.detail(contender.name)
            count = instructions.per_message if contender.kind == PINGPONG else http_instructions.per_get
            try:
                found[who] = count(contender)
            except (CannotMeasure, process.StartFailed, lockstep.EchoDiffers, OSError) as error:
                self._say(f"cannot count the instructions of {contender.name}: {error}")
        self.progress.end(INSTRUCTIONS, f"of {len(found)} servers")
        return found

    def _drum(self) -> dict | None:
        if not self.plays_drum:
            return None
        given = {drummer.name: shlex.join(drummer.command) for drummer in self._drummers}
        store = Store(self._options.out / DRUM, {"seed": self._options.seed} | ({"given": given} if given else {}))
        try:
            left = max(1.0, self._budget_s - PAGE_S - (time.monotonic() - self._began))
            self.progress.begin(DRUM, left)
            plan = drum.DrumPlan(drum.QUICK.cells, drum.QUICK.blocks, budget_s=left)
            return drum.run(plan, self._options.bin, store, self._options.seed, self._say, others=self._drummers)
        finally:
            self.progress.end(DRUM)
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
        return {
            "schema": 3, "plan": {"name": "quick", "title": TITLE}, "seed": self._options.seed, "started": started,
            "command": command, "elapsed_s": time.monotonic() - self._began, "left_out": self.left_out,
            "environment": described, "two_machines": where,
            "claims": quick_judge.claims(duels, self._about()), "then_and_now": quick_judge.then_and_now(duels),
            "elsewhere": quick_judge.elsewhere(),
            "comparisons": quick_judge.comparisons(duels), "memory": quick_judge.memory(duels),
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


def _length(duel: Duel) -> str:
    restarts = duel.found["restarts"]
    return f"{restarts} restart{'' if restarts == 1 else 's'} in {duel.found['elapsed_s']:.0f} s"


def _brief(duel: Duel) -> str:
    """Returns a line with the ratios."""
    rows = [f"{row['contender']} {row['ratio']:.3f}" for row in quick_judge.costs(duel)
            if row["ratio"] is not None and not row["floor"]]
    return (f"  {_length(duel)}; server CPU compared with "
            f"{duel.found['contenders'][0]['name']}: {', '.join(rows)}")


def _about(cell: DuelCell, players: list[Player]) -> str:
    """Returns in words what a duel does."""
    names = ", ".join(player.name for player in players)
    return f"Servers take turns of {cell.slice_ms} ms, and the first also plays against itself: {names}."


def run(options, command: str) -> dict:
    """Runs the lab and shows its progress. Writes its files to options.out and returns the results. Raises
    CannotCompare."""
    process.raise_fd_limit()
    lab = QuickLab(options)
    options.out.mkdir(parents=True, exist_ok=True)
    with quick_screen.shown(lab.progress) as lab.is_live:
        results = lab.run(command)
        lab.progress.begin(PAGE)
        _write(results, options.out)
        lab.progress.end(PAGE)
    return results


def _write(results: dict, folder: Path) -> None:
    from versus.page import quick_page  # imported late, so that the measuring process does not load matplotlib

    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    quick_page.write(results, folder / "report.html")
