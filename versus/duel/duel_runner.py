# SPDX-License-Identifier: BSD-3-Clause
"""Runs `peal load duel`. Only this module knows its command line."""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from versus.roster import Contender
from versus.run import counters, process
from versus.run.counters import HostDelta
from versus.run.generator import EXIT_DONE, EXIT_GATE
from versus.run.server_host import ServerHost

SPARE_S = 60.0  # time beyond the budget, for a restart that takes long
RESTART = "restart "  # how a line of --live begins
TURN_START_S = 0.25  # starting, connecting and ending a server that plays alone


class NoDuel(RuntimeError):
    """A duel could not be played. The text is one sentence that says why; `contender` is the one at fault, or ""."""

    def __init__(self, sentence: str, contender: str = ""):
        super().__init__(sentence)
        self.contender = contender


class Player(NamedTuple):
    """A server for `peal load duel --run`. Its command contains {listen}, or {host} and {port}."""

    name: str
    command: tuple[str, ...]

    @staticmethod
    def of(contender: Contender) -> "Player":
        return Player(contender.name, contender.command)


class Claim(Protocol):
    """A claim about two players. `words` is the argument of --claim."""

    subject: str
    rival: str

    @property
    def words(self) -> str: ...


@dataclass(frozen=True)
class DuelLoad:
    """The load of a duel, and the length of a restart."""

    name: str  # part of its file's name
    title: str
    kind: str  # pingpong, http or echo
    words: tuple[str, ...]  # the options of the load
    slice_ms: int = 20
    rounds: int = 8
    restarts: int = 24  # at most; the budget may allow fewer
    server_threads: int = 1
    in_turn: bool = False  # each player runs alone
    queueing: tuple[str, ...] = ()  # players that serve fewer connections at a time than there are

    def least_s(self, players: int) -> float:
        """Returns how long one restart takes, with the twin and a warming round; in turn, also the servers' starts."""
        each_s = (self.rounds + 1) * self.slice_ms / 1e3 + (TURN_START_S if self.in_turn else 0.0)
        return (players + 1) * each_s


@dataclass
class Duel:
    """A duel that was played."""

    load: DuelLoad
    command: str
    found: dict  # the JSON
    host: HostDelta | None = None  # what happened on this machine during the duel
    left_out: list[str] = field(default_factory=list)
    blamed: list[str] = field(default_factory=list)  # the contenders that those lines are about
    alone: dict[str, str] = field(default_factory=dict)  # in turn: the command that plays a contender against its twin

    @property
    def server_host(self) -> dict | None:
        """The facts that the duel reported about the servers' machine; None if it was this machine."""
        return self.found.get("server_host")

    @property
    def is_apart(self) -> bool:
        """True if the servers ran on another machine than the generator."""
        return self.server_host is not None and not self.server_host["is_here"]


def command(program: str, load: DuelLoad, players: list[Player], claims: list[Claim], budget_s: float, seed: int,
            json_path: Path, host: ServerHost | None = None) -> list[str]:
    """Returns the command line of a duel. If `host` is given, its servers run there."""
    words = [program, "load", "duel", load.kind]
    if host:
        words += ["--server-host", host.name, "--remote-shell", host.shell, "--agent", host.agent_command]
        words += ["--server-address", host.address] if host.address else []
    for player in players:
        words += ["--run", f"{player.name}={shlex.join(player.command)}"]
    for claim in claims:
        words += ["--claim", claim.words]
    words += [*load.words, "--slice", f"{load.slice_ms}ms", "--rounds", str(load.rounds)]
    words += ["--server-threads", str(load.server_threads)] if load.server_threads > 1 else []
    words += ["--in-turn"] if load.in_turn else []
    for player in players:
        words += ["--expect-queueing", player.name] if player.name in load.queueing else []
    return words + ["--restarts", str(load.restarts), "--budget", f"{budget_s:.1f}s", "--seed", str(seed),
                    "--json", str(json_path)]


def _blamed(complaint: str, players: list[Player]) -> str:
    """Returns the player that an error line "peal: NAME: ..." names, or ""."""
    told = complaint.removeprefix("peal: ")
    return next((each.name for each in players if told.startswith((f"{each.name}: ", f"{each.name}-twin: "))), "")


def play(program: str, load: DuelLoad, players: list[Player], claims: list[Claim], budget_s: float, seed: int,
         folder: Path, host: ServerHost | None = None, on_restart: Callable[[str], None] | None = None) -> Duel:
    """Runs one duel. on_restart() gets a line about the progress after each restart. Raises NoDuel."""
    budget_s = max(budget_s, 1.1 * load.least_s(len(players)))  # a duel has at least one restart
    folder.mkdir(parents=True, exist_ok=True)
    json_path = folder / f"duel-{load.name}.json"
    json_path.unlink(missing_ok=True)
    names = {player.name for player in players}
    claims = [claim for claim in claims if {claim.subject, claim.rival} <= names]
    def words_for(some: list[Player]) -> list[str]:
        return command(program, load, some, claims, budget_s, seed, json_path, host)

    def on_line(line: str) -> bool:
        if not line.startswith(RESTART):
            return False
        on_restart(line)
        return True

    words = words_for(players)
    live = ["--live", "on"] if on_restart else []
    before = counters.sample()
    outcome = process.run([*words, *live], limit_s=budget_s + SPARE_S, on_line=on_line if on_restart else None)
    happened = counters.between(before, counters.sample())
    if outcome.code not in (EXIT_DONE, EXIT_GATE):
        why = outcome.complaint or ("the duel did not end in time" if outcome.code is None
                                    else f"exit code {outcome.code}")
        raise NoDuel(why.removeprefix("peal: "), _blamed(why, players))
    try:
        alone = {player.name: shlex.join(words_for([player])) for player in players} if load.in_turn else {}
        return Duel(load, shlex.join(words), json.loads(json_path.read_text(encoding="utf-8")), happened, alone=alone)
    except (OSError, ValueError) as error:
        raise NoDuel(f"cannot read {json_path}: {error}") from error


def play_all(program: str, load: DuelLoad, players: list[Player], claims: list[Claim], budget_s: float, seed: int,
             folder: Path, host: ServerHost | None = None,
             on_restart: Callable[[str], None] | None = None) -> Duel:
    """Runs one duel, as play() does. Players that cannot play are left out and named. Raises NoDuel if none can."""
    left_out, blamed, playing = [], [], list(players)
    while playing:
        try:
            duel = play(program, load, playing, claims, budget_s, seed, folder, host, on_restart)
            faults = {c["name"]: c["fault"] for c in duel.found["contenders"] if c.get("fault")}
            duel.left_out = left_out + [f"{load.title}: {fault}" for fault in faults.values()]
            duel.blamed = blamed + list(faults)
            return duel
        except NoDuel as error:
            if not error.contender:
                raise
            left_out.append(f"{load.title}: {error}")
            blamed.append(error.contender)
            playing = [player for player in playing if player.name != error.contender]
    raise NoDuel(f"{load.title}: no contender could play ({'; '.join(left_out)})")
