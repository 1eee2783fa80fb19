# SPDX-License-Identifier: BSD-3-Clause
"""Shows the progress of the quick lab: on a terminal as a view of the whole screen, otherwise as a line for each step.

A timer's signal draws the view once a second, whatever the lab waits for. So the lab needs no second thread, and a
drawing costs less than a thousandth of a core.
"""

import curses
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from versus import terminal
from versus.quick import quick_view
from versus.quick.quick_progress import Progress

PERIOD_S = 1.0
COLOURS = {quick_view.GOOD: curses.COLOR_GREEN, quick_view.BAD: curses.COLOR_RED,
           quick_view.UNSURE: curses.COLOR_YELLOW}


def is_wanted(environment: dict[str, str] = os.environ) -> bool:
    """Returns True if stdout is a terminal that can show a view."""
    return sys.stdout.isatty() and environment.get("TERM", "dumb") not in ("", "dumb", "unknown")


def _attributes(environment: dict[str, str]) -> dict[str, int]:
    """Returns the look of each tone. Without colours if the terminal has none, or if NO_COLOR is set (no-color.org)."""
    found = {quick_view.BOLD: curses.A_BOLD, quick_view.FAINT: curses.A_DIM}
    with suppress(curses.error):
        curses.start_color()
        curses.use_default_colors()
        if curses.has_colors() and not environment.get("NO_COLOR"):
            for number, (tone, colour) in enumerate(COLOURS.items(), 1):
                curses.init_pair(number, colour, -1)
                found[tone] = curses.color_pair(number)
    return found


def draw(window, progress: Progress, attributes: dict[str, int]) -> None:
    """Draws the view into a window of curses. The last column stays free: to write the last cell is an error."""
    rows, columns = window.getmaxyx()
    window.erase()
    for at, line in enumerate(quick_view.frame(progress, max(1, columns - 1), rows)):
        window.addnstr(at, 0, line.text, max(1, columns - 1), attributes.get(line.tone, curses.A_NORMAL))
    window.refresh()


@contextmanager
def _drawn(window, progress: Progress, environment: dict[str, str]) -> Iterator[None]:
    """Draws the view every second, and when the terminal gets another size, while the block runs."""
    with suppress(curses.error):  # some terminals cannot hide the cursor
        curses.curs_set(0)
    attributes = _attributes(environment)
    drawing = False

    def on_signal(_number: int = 0, _frame=None) -> None:
        nonlocal drawing
        if drawing:  # a signal that arrives while the view is drawn; the next second shows what it missed
            return
        drawing = True
        try:
            columns, rows = os.get_terminal_size(sys.__stdout__.fileno())
            if curses.is_term_resized(rows, columns):  # also if its signal came while the view was drawn
                curses.resizeterm(rows, columns)
            draw(window, progress, attributes)
        except (curses.error, OSError):
            pass  # the terminal became smaller meanwhile, or is gone
        finally:
            drawing = False

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGALRM, signal.SIGWINCH)}
    signal.setitimer(signal.ITIMER_REAL, PERIOD_S, PERIOD_S)
    try:
        on_signal()
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def shown(progress: Progress, environment: dict[str, str] = os.environ) -> Iterator[bool]:
    """Shows the progress while the block runs. Yields True if a view shows it. After the block, also after an
    exception, the terminal is as before, and the lines that the view replaced are printed."""
    progress.on_say = terminal.say
    window = None
    if is_wanted(environment):
        with suppress(curses.error):  # a terminal that the machine does not know
            window = curses.initscr()
    if window is None:
        yield False
        return
    progress.on_say = lambda text: None
    try:
        curses.noecho()
        with _drawn(window, progress, environment):
            yield True
    finally:
        curses.flushinp()
        curses.endwin()
        progress.on_say = terminal.say
        for text in progress.said:
            terminal.say(text)
