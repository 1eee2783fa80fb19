# SPDX-License-Identifier: BSD-3-Clause
"""What a terminal shows while the quick lab runs, as lines of plain ASCII. Pure functions: no terminal, no clock."""

import textwrap
from typing import NamedTuple

from versus.page.verdict import span
from versus.quick.quick_progress import PRELIMINARY, Progress, RatioRow, Step
from versus.stats import MET, NOT_MET

PLAIN, BOLD, GOOD, BAD, UNSURE, FAINT = "plain", "bold", "good", "bad", "unsure", "faint"
TONES = {MET: GOOD, "less": GOOD, NOT_MET: BAD, "more": BAD, PRELIMINARY: UNSURE}
LEGEND = "Ratios are of server CPU per message: below 1, the first costs less. In parentheses: 95 % interval."
NARROW_COLUMNS = 76  # below, a ratio takes two lines
SHORT_ROWS = 20  # below, nothing is explained, and the step that runs is named above the list
BAR_COLUMNS = 60  # at most
FEW_S = 5.0


class Line(NamedTuple):
    text: str
    tone: str = PLAIN


def duration(seconds: float) -> str:
    """Returns for example "3 min 20 s". From a minute on, seconds are rounded to tens."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    tens = round(seconds / 10)
    return f"{tens // 6} min {tens % 6 * 10:02} s"


def left(progress: Progress) -> str:
    seconds = progress.left_s()
    return f"about {duration(seconds)} left" if seconds >= FEW_S else "a few seconds left"


def _bar(share: float, columns: int) -> str:
    width = max(10, min(BAR_COLUMNS, columns - 8))
    full = round(min(1.0, share) * width)
    return f"[{'#' * full}{'.' * (width - full)}] {100 * min(1.0, share):3.0f} %"


def _head(progress: Progress, columns: int, is_short: bool) -> list[Line]:
    at = sum(step.began is not None for step in progress.steps)
    lines = [Line(f"Step {at} of {len(progress.steps)}, {left(progress)}", BOLD),
             Line(_bar(progress.done_share(), columns), BOLD)]
    if progress.now is None:
        return lines
    if is_short:
        more = f", {progress.now.detail}" if progress.now.detail else ""
    else:
        more = f". {progress.now.about}"
    lines += [Line(text) for text in textwrap.wrap(f"Now: {progress.now.title}{more}", columns)]
    return lines if is_short else lines + [Line(text, FAINT) for text in textwrap.wrap(LEGEND, columns)] + [Line("")]


def _name(row: RatioRow) -> str:
    """Returns the pair without the prefix of web servers: the step above it names the protocol."""
    return f"{row.subject.removeprefix('http-')} / {row.rival.removeprefix('http-')}"


def _ratio(row: RatioRow, narrow: bool) -> list[Line]:
    tone = TONES.get(row.verdict, PLAIN)
    value = span(vars(row), 3).replace(" (too few runs for an interval)", "")
    bar = "" if row.bar is None else f"bar {row.bar:.2f}"
    if narrow:
        return [Line(f"    {_name(row)}", tone), Line(f"      {value} {row.verdict}", tone)]
    return [Line(f"    {_name(row):<30}  {value:<22}  {bar:<8}  {row.verdict}", tone)]


def _step(step: Step, narrow: bool, is_short: bool) -> list[Line]:
    """Returns the line of a step, and those of its ratios that are known."""
    if step.began is None:
        return [Line(f"[ ] {step.title}", FAINT)]
    mark, tone = (">", BOLD) if step.ended is None else ("x", PLAIN)
    beside = "" if narrow or not step.detail else step.detail
    lines = [Line(f"[{mark}] {step.title:<44}  {beside}".rstrip(), tone)]
    if narrow and not is_short and step.ended is None and step.detail:
        lines.append(Line(f"    {step.detail}", tone))
    return lines + [line for row in step.rows if row.ratio is not None for line in _ratio(row, narrow)]


def frame(progress: Progress, columns: int, rows: int) -> list[Line]:
    """Returns at most `rows` lines of at most `columns` characters. If there is no room for all steps, those around the
    one that runs are shown."""
    lines = _head(progress, columns, rows < SHORT_ROWS)
    listed: list[Line] = []
    end_of_now = 0
    for step in progress.steps:
        listed += _step(step, columns < NARROW_COLUMNS, rows < SHORT_ROWS)
        if step.began is not None:
            end_of_now = len(listed)
    room = max(0, rows - len(lines))
    first = max(0, end_of_now - room)
    lines += listed[first:first + room]
    return [Line(line.text[:columns], line.tone) for line in lines[:rows]]
