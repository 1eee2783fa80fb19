# SPDX-License-Identifier: BSD-3-Clause
"""Bars that duels decide: ratios of peal and its peers. In a duel all contenders run at once and are measured in turns
of milliseconds."""

from dataclasses import dataclass, replace

from versus import stats
from versus.bars import common
from versus.bars.common import CannotMeasure, Context, Row
from versus.duel import duel_campaign, duel_runner, judge
from versus.duel.duel_figures import CPU, RATE, obstacle, pair_of, twin_of
from versus.duel.duel_runner import Duel, DuelLoad, NoDuel, Player
from versus.experiments import CLOSED, Cell, Duels
from versus.gates import full_before

# A duel's number of restarts follows from the number of blocks: 8 blocks make 24 restarts.
RESTARTS_A_BLOCK = 3
START_S = 3.0  # the most time that starting and connecting take in a restart
WHAT = {CPU: "server CPU per {}", RATE: "{}s/s"}
UNITS = {CPU: "us", RATE: "/s"}


@dataclass(frozen=True)
class Bar:
    """The ratio `subject` / `rival` of a metric must be at most `bound`, or with `at_least`, at least `bound`."""

    subject: str
    rival: str
    bound: float
    at_least: bool = False
    metric: str = CPU

    @property
    def words(self) -> str:
        """The bar as an argument of `peal load duel --claim`."""
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
    """Runs the duel. Its files go to out/`folder`. Raises CannotMeasure."""
    budget_s = load.restarts * (2 * load.least_s(len(players)) + START_S)
    context.say(f"a duel: {load.title}; {', '.join(player.name for player in players)}; {load.restarts} restarts")
    try:
        return duel_runner.play_all(context.tool("peal"), load, players, list(bars), budget_s, context.seed,
                                    context.out / folder)
    except NoDuel as error:
        raise CannotMeasure(str(error)) from error


def load_of(context: Context, name: str, cell: Cell) -> DuelLoad:
    """Returns the closed-loop load of a cell."""
    return duel_campaign.load_of(name, cell, Duels(restarts=restarts_of(context)), CLOSED)


def judged(context: Context, folder: str, load: DuelLoad, players: list[Player], bars: tuple[Bar, ...],
           unit: str = "message", others: tuple[str, ...] = ()) -> list[Row]:
    """Runs the duel. Returns one row per bar, and one per name in `others`, compared with the first player."""
    duel = play(context, folder, load, players, bars)
    return rows(duel, bars, unit) + beside(duel, others, players[0].name, unit)


def _figure(duel: Duel, metric: str, name: str) -> str:
    """Returns a contender's figure as text: microseconds of server CPU, or messages per second."""
    contender = next((each for each in duel.found["contenders"] if each["name"] == name), {})
    key, scale = ("messages_per_s", 1.0) if metric == RATE else ("server_cpu_ns", 1e-3)
    if contender.get(key) is None:
        return "-"
    value = contender[key] * scale
    return f"{value:,.3f}" if value < 100 else f"{value:,.0f}"


def _bounded(duel: Duel, bar: Bar) -> list[str]:
    """Returns which of the bar's two contenders would be faster if the generator were faster."""
    return [each["name"] for each in duel.found["contenders"]
            if each["bounded"] and bar.metric == RATE and each["name"] in (bar.subject, bar.rival)]


def verdict(duel: Duel, bar: Bar) -> str:
    """Returns the verdict. If a contender is bounded by the generator, it is faster than measured: then a verdict that
    this could change is not given."""
    full = _bounded(duel, bar)
    bounded = [side for side in ("subject", "rival") if getattr(bar, side) in full]
    return judge.alone(pair_of(duel.found, bar.metric, bar.subject, bar.rival).logs, bar=bar.bound, side=bar.side,
                       bounded=bounded, obstacle=obstacle(duel.found, bar.metric, (bar.subject, bar.rival)))


def _words(duel: Duel, bar: Bar, unit: str) -> str:
    return f"{WHAT[bar.metric].format(unit)}, {bar.subject} / {bar.rival}, {duel.load.title}"


def row(duel: Duel, bar: Bar, unit: str = "message", beside: tuple[str, ...] = ()) -> Row:
    """Returns the row of a bar. The figures of the contenders in `beside` are shown too."""
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
    """Returns one row per bar. If one of the two contenders did not play, the row says why."""
    names = {contender["name"] for contender in duel.found["contenders"]}
    found = []
    for bar in bars:
        absent = next((name for name in (bar.subject, bar.rival) if name not in names), None)
        why = next((line for line in duel.left_out if f": {absent}: " in line), f"{absent} did not play")
        found.append(row(duel, bar, unit) if absent is None else
                     Row(_words(duel, bar, unit), bar.shown, f"- ({why})", stats.NOT_MEASURED))
    return found


def beside(duel: Duel, names: tuple[str, ...], floor: str, unit: str = "message") -> list[Row]:
    """Returns rows without a bar, for contenders that are shown beside `floor`."""
    asked = rows(duel, tuple(Bar(name, floor, 1.0) for name in names), unit)
    return [replace(each, bar="-", verdict=each.verdict if each.verdict == stats.NOT_MEASURED else "")
            for each in asked]
