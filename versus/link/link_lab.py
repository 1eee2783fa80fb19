# SPDX-License-Identifier: BSD-3-Clause
"""`versus link`: from the options to duels, results.json, report.html and the last line."""

import json
import shutil
import sys
import time

from versus import roster, stats
from versus.comparison import CannotCompare
from versus.duel import duel_runner
from versus.duel.duel_runner import Duel, NoDuel, Player
from versus.link import link_rule
from versus.link.link_plan import BUDGET_S, CELLS, CLAIMS, FIRST_CONNECTIONS, MOST_CONNECTIONS, LinkCell, cell_named
from versus.link.link_rule import Link
from versus.quick import quick_judge
from versus.run import environment, process, server_host
from versus.run.server_host import BadHost, ServerHost

TITLE = "Who needs less CPU at a full link"
NOT_FULL = "the link was not full"
MIB = 2**20
FULL_CORE = 0.85
MORE = 1.05  # what a doubling of the connections must carry to be worth it
SPARE_FDS = 128
TRY_S = 20.0  # what a try of some connections may take


class LinkLab:
    """One run of the experiment: its contenders, its clock."""

    def __init__(self, options, say=lambda text: print(text, file=sys.stderr, flush=True)):
        self._options = options
        self._say = say
        self._began = time.monotonic()
        self._budget_s = options.budget or BUDGET_S
        self._program = str(options.bin / "peal")
        self._host = ServerHost.of(options)
        if self._host is None:
            raise BadHost("A link has two ends: name the machine of the servers with --server-host.")
        if not shutil.which(self._program):
            raise CannotCompare(f"{self._program} is not there: run `make build` first, or say where with --bin.")
        given = [roster.given(text) for text in options.contender]
        everybody = roster.built_in(self._host.bin_dir) + given
        self._known = self._host.known(roster.programs_of(everybody))
        ready, _ = roster.choose(self._host.bin_dir, options.contender, [], roster.PINGPONG,
                                 there=self._known.programs)
        self._ready = {contender.name: contender for contender in ready}
        names = [*CELLS[0].contenders, *(contender.name for contender in given)]
        strangers = [name for name in options.only if name not in {contender.name for contender in everybody}]
        if strangers:
            raise roster.BadContender(f"There is no contender '{strangers[0]}'.")
        self._names = options.only or names
        self.left_out = [f"{c.name}: {c.missing(self._known.programs)}" for c in everybody
                         if c.name in self._names and c.name not in self._ready]
        if not self._players():
            raise CannotCompare(f"Nobody can play: {'; '.join(self.left_out)}.")
        self.link: Link | None = None  # once a duel has said where its servers were

    def _players(self) -> list[Player]:
        return [Player.of(self._ready[name]) for name in self._names if name in self._ready]

    def _left_s(self) -> float:
        return self._budget_s - (time.monotonic() - self._began)

    def _play(self, cell: LinkCell, restarts: int, rounds: int, budget_s: float, claims) -> Duel:
        duel = duel_runner.play_all(self._program, cell.load(restarts, rounds), self._players(), claims, budget_s,
                                    self._options.seed, self._options.out, self._host)
        if self.link is None:
            self.link = link_rule.link_to(duel.server_host["address"], self._options.link_mbit)
        return duel

    def _filling(self, cell: LinkCell) -> LinkCell:
        """The cell on as many connections as fill the link, or on as many as help: where a core is full, or nobody
        knows how fast the link is, or the last doubling carried no more, more do not."""
        if self._options.connections:
            return cell.on(self._options.connections)
        limit = process.raise_fd_limit()
        best, tried, reached = cell, cell.on(FIRST_CONNECTIONS), 0.0
        while True:
            duel = self._play(tried, 1, 1, TRY_S, [])
            shares = [self.link.share(each["messages_per_s"], cell.size) for each in duel.found["contenders"]]
            shown = "not known" if None in shares else f"{min(shares):.0%} to {max(shares):.0%}"
            self._say(f"  {tried.connections} connections: the link's share is {shown}")
            if reached and None not in shares and min(shares) < MORE * reached:
                return best
            best, reached = tried, min(shares) if None not in shares else 0.0
            more = tried.connections * 2
            fits = (len(self._players()) + 1) * more + SPARE_FDS <= limit
            if not wants_more(duel.found["contenders"], shares) or more > MOST_CONNECTIONS or not fits:
                return tried
            tried = cell.on(more)

    def _cell(self, cell: LinkCell, budget_s: float) -> tuple[LinkCell, Duel]:
        self._say(f"{cell.title}: {len(self._players())} contenders and the A/A twin, at most {budget_s:.0f} s")
        until = time.monotonic() + budget_s
        cell = self._filling(cell)
        claims = [claim for claim in CLAIMS if claim.cell == cell.name]
        return cell, self._play(cell, self._options.restarts, cell.load(1).rounds,
                                max(1.0, until - time.monotonic()), claims)

    def run(self, command: str) -> dict:
        """Everything that was found, as results.json holds it."""
        options = self._options
        self._say(f"seed {options.seed}; what is found is kept in {options.out}")
        started = time.strftime("%Y-%m-%d %H:%M:%S %Z")
        wanted = [cell for cell in CELLS if not options.experiments or cell.name in options.experiments]
        played: list[tuple[LinkCell, Duel]] = []
        for at, cell in enumerate(wanted):
            try:
                played.append(self._cell(cell, max(1.0, self._left_s() / (len(wanted) - at))))
            except NoDuel as error:
                self.left_out.append(f"{cell.title}: {error}")
                continue
            self.left_out += played[-1][1].left_out
        duels = [duel for _, duel in played]
        quick_judge.judge_twins(duels)
        cells = [cell_of(cell, duel, self.link) for cell, duel in played]
        about = tuple(claim for claim in CLAIMS if claim.cell in {cell.name for cell in wanted})
        described, where = server_host.machines(self._host, self._known,
                                                environment.describe(options.bin, process.Pins.of(1).words),
                                                duels[-1].found if duels else None)
        return {
            "schema": 1, "plan": {"name": "link", "title": TITLE}, "seed": options.seed, "started": started,
            "command": command, "elapsed_s": time.monotonic() - self._began, "left_out": self.left_out,
            "environment": described,
            "two_machines": where, "link": self.link.as_dict() if self.link else None, "cells": cells,
            "claims": claims_of(duels, about, cells),
        }


def wants_more(contenders: list[dict], shares: list[float | None]) -> bool:
    """Whether more connections may fill the link: somebody does not fill it, though neither end of it is short of
    CPU."""
    for contender, share in zip(contenders, shares):
        if share is None:
            return False
        is_short = max(contender["server_share"] or 0.0, contender["client_share"]) >= FULL_CORE
        if not link_rule.is_full(share) and not is_short:
            return True
    return False


def cell_of(cell: LinkCell, duel: Duel, link: Link) -> dict:
    """What the page and results.json say of one cell; nothing is said of who did not fill the link."""
    contenders = {each["name"]: each for each in duel.found["contenders"]}
    rows = []
    for row in quick_judge.costs(duel):
        each = contenders[row["contender"]]
        share = link.share(each["messages_per_s"], cell.size)
        rows.append(row | {"server_share": each["server_share"], "client_share": each["client_share"],
                           "mib_per_s": each["messages_per_s"] * cell.size / MIB, "link_share": share,
                           "full": link_rule.is_full(share)})
    floor = next(row for row in rows if row["floor"])
    for row in rows:
        if not row["floor"] and not (row["full"] and floor["full"]):
            row["says"] = NOT_FULL
    kept = ("restarts", "rounds", "slice_s", "elapsed_s", "engine", "server_cpus", "client_cpus", "gates", "twins")
    return {"name": cell.name, "title": f"{cell.title}, {cell.connections} connections", "size": cell.size,
            "connections": cell.connections, "unit": cell.unit, "floor": floor["contender"], "rows": rows,
            "full": all(row["full"] for row in rows), "command": duel.command,
            **{key: duel.found[key] for key in kept}}


def claims_of(duels: list[Duel], declared: tuple, cells: list[dict]) -> list[dict]:
    """The claims' verdicts; of two of which one did not fill the link nothing can be told."""
    full = {(cell["name"], row["contender"]) for cell in cells for row in cell["rows"] if row["full"]}
    claims = quick_judge.claims(duels, declared, cell_named)
    for claim in claims:
        lacking = [name for name in (claim["subject"], claim["rival"]) if (claim["cell"], name) not in full]
        if lacking and claim["verdict"] != stats.NOT_MEASURED:
            claim["verdict"], claim["why"] = stats.CANNOT_TELL, f"{NOT_FULL} with {' and '.join(lacking)}"
    return claims


def run(options, command: str) -> dict:
    """Plays, writes its files under options.out and returns the results. Raises CannotCompare, BadHost, Unreachable."""
    process.raise_fd_limit()
    lab = LinkLab(options)
    options.out.mkdir(parents=True, exist_ok=True)
    results = lab.run(command)
    from versus.page import link_page  # drawing is loaded late: no matplotlib in the process that measures

    (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    link_page.write(results, options.out / "report.html")
    return results
