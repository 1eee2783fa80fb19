# SPDX-License-Identifier: BSD-3-Clause
"""The parts that all figures share: the context, a row of the table, and paired blocks in shuffled order."""

import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

from versus import lockstep, roster, stats
from versus.duel import judge
from versus.run import generator, process
from versus.roster import Contender

Value = TypeVar("Value")


class CannotMeasure(RuntimeError):
    """A figure cannot be measured here. The text is one sentence that says why."""


class Marred(CannotMeasure):
    """One run does not count. It is repeated once; if that fails too, its block stays empty."""


# The errors that end the measurement of a figure.
UNMEASURED = (CannotMeasure, process.StartFailed, lockstep.EchoDiffers, OSError, subprocess.TimeoutExpired)
NO_BAR = "-"


@dataclass
class Row:
    """One line of the table of bars. `verdict` is "" if no bar applies."""

    figure: str
    bar: str
    measured: str
    verdict: str
    data: dict = field(default_factory=dict)

    def as_dict(self) -> dict:
        return asdict(self)


@dataclass
class Context:
    """The options and contenders that a figure is measured with."""

    bin_dir: Path
    out: Path
    seed: int
    blocks: int
    everyone: bool
    extra: list[str]

    def __post_init__(self) -> None:
        self._ready = roster.choose(self.bin_dir, self.extra, [], roster.PINGPONG)[0]

    def contenders(self, names: tuple[str, ...] = ()) -> list[Contender]:
        """Returns the contenders that can run. If `names` are given, returns only these, unless --all was given."""
        return [c for c in self._ready if not names or self.everyone or c.name in names or c.given]

    def of_kind(self, kind: str, names: tuple[str, ...]) -> list[Contender]:
        """Returns the contenders of `names` that speak `kind` and can run; with --all, every contender that speaks
        `kind`. Raises CannotMeasure if there is none."""
        ready, absent = roster.choose(self.bin_dir, self.extra, [] if self.everyone else list(names), kind)
        if not ready:
            raise CannotMeasure(absent[0] if absent else f"there is no contender of the kind {kind}")
        return ready

    def need(self, name: str) -> Contender:
        found = next((contender for contender in self._ready if contender.name == name), None)
        if found is None:
            raise CannotMeasure(f"{name} is not built")
        return found

    def tool(self, name: str) -> str:
        """Returns the path of a program of the build. Raises CannotMeasure."""
        path = self.bin_dir / name
        if not path.exists():
            raise CannotMeasure(f"{path} is not built")
        return str(path)

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def in_parts(parts: dict[str, Callable[[], list[Row]]]) -> list[Row]:
    """Returns the rows of all parts of a figure. If a part cannot be measured, one row says why; the other parts are
    still measured."""
    rows = []
    for figure, measure in parts.items():
        try:
            rows += measure()
        except UNMEASURED as error:
            rows.append(Row(figure, "", f"- ({error})", stats.NOT_MEASURED))
    return rows


def counted(figure: str, bar: str, most: float, measure: Callable[[], tuple[float, str, dict]]) -> Row:
    """Returns the row of a figure that is an exact count and so has no interval: met if it is at most `most`. `measure`
    returns the figure, its text and the row's data. If `bar` is NO_BAR, there is no verdict."""
    try:
        value, shown, data = measure()
    except UNMEASURED as error:
        return Row(figure, bar, f"- ({error})", "" if bar == NO_BAR else stats.NOT_MEASURED)
    verdict = stats.MET if value <= most else stats.NOT_MET
    return Row(figure, bar, shown, "" if bar == NO_BAR else verdict, data)


def run_in(path: Path, of: str) -> generator.Measurement:
    """Reads the result file of a `peal load` run. `of` names its messages in errors. Raises CannotMeasure, Marred."""
    try:
        found = generator.read(path)
    except generator.NoMeasurement as error:
        raise CannotMeasure(str(error)) from error
    if found.errors or not found.messages:
        raise Marred(f"{found.messages} {of}, errors {found.errors}")
    return found


def generated(words: list[str], limit_s: float, of: str) -> generator.Measurement:
    """Runs `peal load` with `words` and --json, and returns its result. A failed gate is no error here, because the bar
    judges the figure. Raises CannotMeasure, Marred."""
    with tempfile.TemporaryDirectory(prefix="versus-load-") as folder:
        out = Path(folder) / "run.json"
        outcome = process.run([*words, "--json", str(out)], process.Pins.of(1).client, limit_s)
        if outcome.code not in (generator.EXIT_DONE, generator.EXIT_GATE):
            raise CannotMeasure(f"peal load failed: {outcome.complaint or outcome.code}")
        return run_in(out, of)


@contextmanager
def company(words: list[str], limit_s: float, did_not_come: str, cpus=()) -> Iterator[list[int]]:
    """Runs a companion program while the block runs. The program prints "ready", works until its stdin ends, and then
    prints a number: how much it did. The block starts when the program is ready. Yields a list that holds the number
    after the block. Raises CannotMeasure."""
    done: list[int] = []
    with process.companion(words, cpus) as child:
        if process.line_of(child, limit_s) != "ready":
            raise CannotMeasure(did_not_come)
        yield done
        child.stdin.close()
        said = process.line_of(child, limit_s)
        done.append(int(said) if said.isdigit() else 0)


def paired(context: Context, what: str, variants: dict[str, Callable[[], Value]]) -> dict[str, dict[int, Value]]:
    """Runs every variant once per block, in an order shuffled with the seed. Returns the value of each variant by
    block."""
    values: dict[str, dict[int, Value]] = {name: {} for name in variants}
    for block in range(context.blocks):
        order = list(variants)
        random.Random(f"{context.seed}/{what}/{block}").shuffle(order)

        def counts(name: str) -> bool:
            try:
                values[name][block] = variants[name]()
            except Marred as error:
                context.say(f"{what}, block {block + 1}: {error}")
                return False
            return True

        for name in [name for name in order if not counts(name)]:
            counts(name)
    for name, by_block in values.items():
        if not by_block:
            raise CannotMeasure(f"every run of {name} was disturbed; none counts")
    return values


def restarts(context: Context, what: str, count: int,
             restart: Callable[[int], dict[str, float]]) -> dict[str, dict[int, float]]:
    """Calls `restart` `count` times. Returns each side's values by number of the restart, without the disturbed
    restarts."""
    values: dict[str, dict[int, float]] = {}
    for number in range(count):
        try:
            for name, value in restart(number).items():
                values.setdefault(name, {})[number] = value
        except Marred as error:
            context.say(f"{what}, restart {number + 1}: {error}")
    if not values:
        raise CannotMeasure("every restart was disturbed; none counts")
    return values


def pair_of(values: dict[str, dict[int, float]], subject: str, rival: str) -> stats.Pair:
    return stats.compare(values[subject], values[rival])


def medians(values: dict[str, dict[int, float]], names: tuple[str, ...], digits: int = 0, scale: float = 1.0) -> str:
    """Returns the medians of `names` as text, to stand beside their ratio."""
    return " / ".join(f"{statistics.median(values[name].values()) * scale:,.{digits}f}" for name in names)


def ratio_row(figure: str, values: dict[str, dict[int, float]], sides: tuple[str, str], most: float, shown: str,
              digits: int = 3, barred: bool = True) -> Row:
    """Returns the row of the ratio first / second of `sides`, which must be at most `most`. The text `shown` stands
    beside it."""
    pair = pair_of(values, *sides)
    return Row(figure, f"<= {most:g}" if barred else NO_BAR, f"{span(pair, digits)}; {shown}",
               at_most(pair, most) if barred else "", ratio_data(pair, values))


def middle_of(values: list[float]) -> stats.Pair:
    """Returns the geometric mean of a single figure with its interval: a Pair whose "ratio" is the figure itself."""
    return stats.compare(dict(enumerate(values)), dict.fromkeys(range(len(values)), 1.0))


def span(pair: stats.Pair, digits: int = 3) -> str:
    if not pair.known:
        return f"{pair.ratio:.{digits}f} (too few blocks)"
    return f"{pair.ratio:.{digits}f} ({pair.low:.{digits}f} to {pair.high:.{digits}f})"


def at_most(pair: stats.Pair, bar: float) -> str:
    return judge.alone(pair.logs, bar=bar)


def at_least(pair: stats.Pair, bar: float) -> str:
    return judge.alone(pair.logs, bar=bar, side=">=")


def json_of(words: list[str], cpus: tuple[int, ...], limit_s: float) -> dict:
    """Runs a bare client and returns the JSON that it printed. Raises CannotMeasure."""
    outcome = process.run(words, cpus, limit_s)
    try:
        return json.loads(outcome.out)
    except ValueError as error:
        why = outcome.complaint or f"exit code {outcome.code}"
        raise CannotMeasure(f"{words[0]} printed no figures: {why}") from error


def ratio_data(pair: stats.Pair, values: dict[str, dict[int, float]]) -> dict:
    return pair.as_dict() | {"values": {name: list(by_block.values()) for name, by_block in values.items()}}
