# SPDX-License-Identifier: BSD-3-Clause
"""Bars that are decided by a duel: ratios of peal and its peers, all of them in turns of milliseconds."""

from dataclasses import dataclass, replace

from versus import stats
from versus.bars import common
from versus.bars.common import CannotMeasure, Context, Row
from versus.duel import duel_campaign, duel_runner, judge
from versus.duel.duel_figures import CPU, RATE, obstacle, pair_of, twin_of
from versus.duel.duel_runner import Duel, DuelLoad, NoDuel, Player
from versus.experiments import CLOSED, Cell, Duels
from versus.gates import full_before

# A duel's restarts follow from the blocks that were asked for (8): with as many as this each, 24.
RESTARTS_A_BLOCK = 3
START_S = 3.0  # what starting and connecting may take in a restart
WHAT = {CPU: "server CPU per {}", RATE: "{}s/s"}
UNITS = {CPU: "us", RATE: "/s"}


@dataclass(frozen=True)
class Bar:
    """`subject` / `rival` of a metric is to be at most, or at least, `bound`."""

    subject: str
    rival: str
    bound: float
    at_least: bool = False
    metric: str = CPU

    @property
    def words(self) -> str:
        """As `peal load duel --claim` takes it."""
        return f"{self.metric}: {self.subject}/{self.rival} {self.shown}"

    @property
    def side(self) -> str:
        return ">=" if self.at_least else "<="

    @property
    def shown(self) -> str:
        return f"{self.side} {self.bound:g}"


def restarts_of(context: Context) -> int:
    return RESTARTS_A_BLOCK * context.blocks


def play(context: Context, folder: str, load: DuelLoad, players: list[Player], bars: tuple[Bar, ...]) -> Duel:
    """Plays it, its files under out/`folder`. Raises CannotMeasure."""
    budget_s = load.restarts * (2 * load.least_s(len(players)) + START_S)
    context.say(f"a duel: {load.title}; {', '.join(player.name for player in players)}; {load.restarts} restarts")
    try:
        return duel_runner.play_all(context.tool("peal"), load, players, list(bars), budget_s, context.seed,
                                    context.out / folder)
    except NoDuel as error:
        raise CannotMeasure(str(error)) from error


def load_of(context: Context, name: str, cell: Cell) -> DuelLoad:
    """The closed loop of a cell."""
    return duel_campaign.load_of(name, cell, Duels(restarts=restarts_of(context)), CLOSED)


def judged(context: Context, folder: str, load: DuelLoad, players: list[Player], bars: tuple[Bar, ...],
           unit: str = "message", others: tuple[str, ...] = ()) -> list[Row]:
    """Plays it: a row for each bar, and one for each of the `others`, beside the first player."""
    duel = play(context, folder, load, players, bars)
    return rows(duel, bars, unit) + beside(duel, others, players[0].name, unit)


def _figure(duel: Duel, metric: str, name: str) -> str:
    """Microseconds of server CPU, or messages a second."""
    contender = next((each for each in duel.found["contenders"] if each["name"] == name), {})
    key, scale = ("messages_per_s", 1.0) if metric == RATE else ("server_cpu_ns", 1e-3)
    if contender.get(key) is None:
        return "-"
    value = contender[key] * scale
    return f"{value:,.3f}" if value < 100 else f"{value:,.0f}"


def _bounded(duel: Duel, bar: Bar) -> list[str]:
    """Who would have been faster, had the generator been."""
    return [each["name"] for each in duel.found["contenders"]
            if each["bounded"] and bar.metric == RATE and each["name"] in (bar.subject, bar.rival)]


def verdict(duel: Duel, bar: Bar) -> str:
    """What the generator held down may turn no verdict over: a bounded rival is faster than it seems."""
    full = _bounded(duel, bar)
    bounded = [side for side in ("subject", "rival") if getattr(bar, side) in full]
    return judge.alone(pair_of(duel.found, bar.metric, bar.subject, bar.rival).logs, bar=bar.bound, side=bar.side,
                       bounded=bounded, obstacle=obstacle(duel.found, bar.metric, (bar.subject, bar.rival)))


def _words(duel: Duel, bar: Bar, unit: str) -> str:
    return f"{WHAT[bar.metric].format(unit)}, {bar.subject} / {bar.rival}, {duel.load.title}"


def row(duel: Duel, bar: Bar, unit: str = "message", beside: tuple[str, ...] = ()) -> Row:
    """The line of the table; `beside`: others whose figures stand there too."""
    pair = pair_of(duel.found, bar.metric, bar.subject, bar.rival)
    figures = " / ".join(_figure(duel, bar.metric, name) for name in (bar.subject, bar.rival))
    others = "".join(f"; {name} {_figure(duel, bar.metric, name)}" for name in beside)
    twin = twin_of(duel.found, bar.metric)
    again = f"; A/A {twin['ratio']:.3f}" if twin and twin["ratio"] is not None else ""
    whys = full_before(_bounded(duel, bar)), obstacle(duel.found, bar.metric, (bar.subject, bar.rival))
    told = "".join(f"; {why}" for why in whys if why)
    measured = f"{common.span(pair)}; {figures} {UNITS[bar.metric]}{others}{again}{told}"
    return Row(_words(duel, bar, unit), bar.shown, measured, verdict(duel, bar),
               pair.as_dict() | {"logs": list(pair.logs), "command": duel.command})


def rows(duel: Duel, bars: tuple[Bar, ...], unit: str = "message") -> list[Row]:
    """A row for each bar; where one of the two did not play, why."""
    names = {contender["name"] for contender in duel.found["contenders"]}
    found = []
    for bar in bars:
        absent = next((name for name in (bar.subject, bar.rival) if name not in names), None)
        why = next((line for line in duel.left_out if f": {absent}: " in line), f"{absent} did not play")
        found.append(row(duel, bar, unit) if absent is None else
                     Row(_words(duel, bar, unit), bar.shown, f"- ({why})", stats.NOT_MEASURED))
    return found


def beside(duel: Duel, names: tuple[str, ...], floor: str, unit: str = "message") -> list[Row]:
    """Contenders of whom nothing is asked, beside the floor."""
    asked = rows(duel, tuple(Bar(name, floor, 1.0) for name in names), unit)
    return [replace(each, bar="-", verdict=each.verdict if each.verdict == stats.NOT_MEASURED else "")
            for each in asked]
