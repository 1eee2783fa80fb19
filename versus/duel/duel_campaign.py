# SPDX-License-Identifier: BSD-3-Clause
"""Measures an experiment by duels: one duel for each cell and mode. A fixed rate is found first. An interrupted
campaign resumes after the last complete duel.

If all contenders can run side by side (fit_together()), they take turns slice by slice. Otherwise they run "in turn":
each contender plays all its rounds of a restart alone, one contender after the other.
"""

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from versus import gates
from versus.duel import duel_runner
from versus.duel.duel_records import Played, records_of
from versus.duel.duel_runner import DuelLoad, NoDuel, Player
from versus.experiments import CLOSED, RATE, RATED_SLICE_S, Duels, Experiment, HttpCell, Load
from versus.roster import HTTP, Contender
from versus.run import process, schedule
from versus.run.echo_cell import EchoCell
from versus.run.server_host import ServerHost
from versus.run.store import Store

# The certificate is self-signed. Only the client would check it, and the client's CPU is not compared.
BELIEVES = "--tls-insecure"
# File descriptors that the generator needs besides its connections.
SPARE_FDS = 128
# If more servers than this wait for their slices, they disturb each other.
MOST_SIDE_BY_SIDE = 32
# With very many connections, a slice takes longer to end, because it waits for every answer.
MANY, LONG_SLICE_S = 1000, 0.03
CALIBRATION_RESTARTS = 2
# A contender that fails this often is not tried again: each attempt costs the others a start.
MOST_FAILURES = 2
START_S = 10.0  # the most that starting and connecting take in a restart, if there is no budget
# In turn: the number of rounds after the one that warms the server, and the limits between which a budget sets a turn.
TURN_ROUNDS = 4
SHORTEST_TURN_S, LONGEST_TURN_S = 0.15, 3.0


def fit_together(cell: Load, players: tuple[Contender, ...], fd_limit: int) -> bool:
    """Returns whether all can play slice by slice: at most 31 players, whose connections fit together and who serve all
    of them."""
    return len(players) < MOST_SIDE_BY_SIDE and \
        (len(players) + 1) * (cell.connections + cell.idle) + SPARE_FDS <= fd_limit and \
        all(player.serves_at_once(cell) >= cell.connections for player in players)


def load_of(experiment: str, cell: Load, duels: Duels, mode: str, rate: float = 0.0) -> DuelLoad:
    """Returns the load of `peal load duel` if all play slice by slice."""
    words = ["--connections", str(cell.connections), "--threads", str(cell.generator_threads)]
    if isinstance(cell, EchoCell):
        kind, more = "echo", cell.generator_words()
    elif isinstance(cell, HttpCell):
        kind = HTTP
        more = ["--path", cell.path] + (["--requests-per-connection", "1"] if cell.short else [])
    else:
        kind, more = "pingpong", ["--size", str(cell.size)]
    words += more + (["--tls", BELIEVES] if cell.over_tls else []) + list(cell.load_words)
    words += (["--rate", f"{rate:.0f}/s"] if mode == RATE else [])
    name, title = f"{experiment}-{cell.name}-{mode}".replace(" ", "_").replace(",", ""), cell.title
    if mode == RATE:
        return DuelLoad(name, title, kind, tuple(words), round(duels.rated_slice_s * 1000), duels.rated_rounds,
                        duels.rated_restarts, cell.threads)
    slice_s = max(duels.slice_s, cell.least_slice_s, LONG_SLICE_S if cell.connections >= MANY else 0.0)
    return DuelLoad(name, title, kind, tuple(words), round(slice_s * 1000), duels.rounds, duels.restarts, cell.threads)


def in_turn(load: DuelLoad, cell: Load, players: tuple[Contender, ...], mode: str, turns: int,
            turn_s: float) -> DuelLoad:
    """Returns the load if each player runs alone, for `turn_s` in each of `turns` restarts."""
    rounds = TURN_ROUNDS if mode == CLOSED else max(1, round(turn_s / RATED_SLICE_S))
    slice_s = turn_s / rounds if mode == CLOSED else max(RATED_SLICE_S, turn_s / rounds)
    queueing = tuple(c.name for c in players if c.serves_at_once(cell) < cell.connections)
    return replace(load, slice_ms=math.ceil(slice_s * 1000), rounds=rounds, restarts=turns, in_turn=True,
                   queueing=queueing)


def machines_of(found: dict) -> dict | None:
    """Returns the part of a duel's JSON that server_host.py needs, or None if only this machine was used."""
    if not found.get("server_host"):
        return None
    return {key: found[key] for key in ("server_host", "server_cpus", "client_cpus")}


class DuelCampaign:
    """Runs one experiment. The duel itself adds the twin. `say` gets lines about the progress."""

    def __init__(self, experiment: Experiment, contenders: list[Contender], program: Path, folder: Path, store: Store,
                 seed: int, say: Callable[[str], None], host: ServerHost | None = None):
        self._contenders = contenders
        # The contender that has the twin must be the first.
        self._everybody = sorted((c for c in contenders if c.name != experiment.twin_name),
                                 key=lambda contender: contender.name != experiment.twin_of)
        self._experiment = experiment
        self._program = str(program)
        self._folder = folder
        self._store = store
        self._seed = seed
        self._say = say
        self._host = host
        self._fd_limit = process.raise_fd_limit()
        self.machines: dict | None = None  # machines_of() of the last duel; None if all ran on this machine
        self._began = time.monotonic()
        self._plays_left = sum(1 for cell in experiment.cells for _ in cell.modes)
        self.left_out: list[str] = []
        self._failures: Counter[str] = Counter()

    @property
    def contenders(self) -> list[Contender]:
        """Returns the contenders that played, and the twin."""
        played = {record["contender"] for record in self._records()} | {self._experiment.twin_name}
        return [contender for contender in self._contenders if contender.name in played]

    def _time_left_s(self) -> float:
        budget = self._experiment.budget_s
        return math.inf if budget is None else self._began + budget - time.monotonic()

    def _records(self) -> list[dict]:
        return [record for record in self._store.records if record.get("experiment") == self._experiment.name]

    def run(self) -> None:
        """Runs every cell, first in a closed loop, because the throughput reached there fixes the rate. Cells whose
        turns have a minimum length run last, so that they cannot take time from the others."""
        for cell in sorted(self._experiment.cells, key=lambda cell: cell.least_turn_s):
            if CLOSED in cell.modes:
                self._play(Played(self._experiment.name, cell, CLOSED), self._experiment.duels)
            if RATE in cell.modes:
                rate = self._rate_of(cell)
                if rate:
                    self._say(f"{cell.name}: fixed rate {rate:,.0f} {self._experiment.unit}s/s: half of the "
                              "slowest contender's saturation")
                    self._play(Played(self._experiment.name, cell, RATE, rate), self._experiment.duels)

    def _rate_of(self, cell: Load) -> float:
        key = f"rate/{self._experiment.name}/{cell.name}"
        kept = self._store.get(key)
        if kept:
            return kept["rate"]
        if CLOSED not in cell.modes:
            short = replace(self._experiment.duels, restarts=CALIBRATION_RESTARTS, turns=CALIBRATION_RESTARTS)
            self._play(Played(self._experiment.name, cell.closed(), CLOSED, first_block=-1), short)
        reached: dict[str, list[float]] = {}
        for record in self._records():
            if record["cell"] == cell.name and record["mode"] == CLOSED and gates.usable(record):
                reached.setdefault(record["contender"], []).append(record["figures"]["messages_per_s"])
        if not reached:
            return 0.0
        rate = schedule.fixed_rate(reached)
        self._store.add({"key": key, "rate": rate})
        return rate

    def _share_s(self) -> float:
        """Returns the budget for the next duel; infinite if there is no budget."""
        return max(1.0, self._time_left_s() / max(1, self._plays_left))

    def _budget_s(self, load: DuelLoad, players: int, is_calibration: bool) -> float:
        most = load.restarts * (2 * load.least_s(players) + START_S)
        return most if load.in_turn or is_calibration else min(most, self._share_s())

    def _turn_s(self, cell: Load, duels: Duels, players: int) -> float:
        """Returns the seconds of a turn: duels.turn_s, or its share of a budget (0.15 to 3 s), but at least
        cell.least_turn_s."""
        each_s = self._share_s() / duels.turns / (players + 1) - duel_runner.TURN_START_S
        left_s = min(LONGEST_TURN_S, max(SHORTEST_TURN_S, each_s * TURN_ROUNDS / (TURN_ROUNDS + 1)))
        return max(duels.turn_s if math.isinf(each_s) else left_s, cell.least_turn_s)

    def _load(self, played: Played, duels: Duels) -> DuelLoad:
        load = load_of(played.experiment, played.cell, duels, played.mode, played.rate)
        if fit_together(played.cell, played.contenders, self._fd_limit):
            return load
        turn_s = self._turn_s(played.cell, duels, len(played.contenders))
        return in_turn(load, played.cell, played.contenders, played.mode, duels.turns, turn_s)

    def _play(self, played: Played, duels: Duels) -> None:
        """Runs one duel and stores it, unless the store has it from before a restart."""
        cell, key = played.cell, f"duel/{played.experiment}/{played.cell.name}/{played.mode}/{played.first_block}"
        kept = self._store.get(key)
        if kept:
            self.machines = kept.get("machines") or self.machines
            self._plays_left -= played.first_block >= 0
            return
        played = replace(played, contenders=tuple(c for c in self._everybody if self._experiment.runs_here(c.name, cell)
                                                  and self._failures[c.name] < MOST_FAILURES))
        players = [Player(c.name, tuple(c.for_cell(cell)("{host}", "{port}"))) for c in played.contenders]
        if not players:
            return
        load = self._load(played, duels)
        budget_s = self._budget_s(load, len(players), played.first_block < 0)
        self._plays_left -= played.first_block >= 0
        how = ("at the rate" if played.mode == RATE else "closed loop") + (", in turn" if load.in_turn else "")
        self._say(f"{cell.title}, {how}: {len(players)} contenders and the A/A twin, at most {budget_s:.0f} s")
        played = replace(played, began=time.time())
        try:
            duel = duel_runner.play_all(self._program, load, players, [], budget_s, self._seed, self._folder,
                                        self._host)
        except NoDuel as error:
            self.left_out.append(f"{cell.title}, {how}: {error}")
            return
        self.machines = machines_of(duel.found)
        self._note_failures(duel)
        self._store.add_all([*records_of(duel, played), {"key": key, "command": duel.command,
                                                         "machines": self.machines}])
        self._say(f"  {duel.found['restarts']} restarts in {duel.found['elapsed_s']:.0f} s")

    def _note_failures(self, duel: duel_runner.Duel) -> None:
        self.left_out += duel.left_out
        self._failures.update(duel.blamed)
        self.left_out += [f"{name}: could not play {MOST_FAILURES} times; it was not tried again"
                          for name in duel.blamed if self._failures[name] == MOST_FAILURES]
