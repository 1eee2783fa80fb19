# SPDX-License-Identifier: BSD-3-Clause
"""A clock that tests move, and the progress of a made-up run."""

from versus.quick.quick_progress import Progress, RatioRow, Step

LINE = ("restart {} of 60, round 8 of 8, 21.3 s of 109.0 s | peal-epoll/raw-epoll 0.960 +-2.5 % | "
        "peal-epoll/libuv 0.910 | peal-epoll/libevent -")


class Clock:
    """A clock that stands still unless a test moves it."""

    def __init__(self):
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def move(self, seconds: float) -> None:
        self.now_s += seconds


def made(clock: Clock, budget_s: float = 200.0, drum: bool = True) -> Progress:
    """Returns the progress of two duels of equal shares, a drum and a page."""
    bars = {"raw-epoll": 1.05, "libuv": 1.0, "libevent": 1.0}
    rows = [RatioRow("peal-epoll", rival, bar) for rival, bar in bars.items()]
    steps = [Step("one", "echo, one", "two take turns", share=0.5, restarts=60, least_s=1.0, rows=rows),
             Step("two", "echo, two", "two take turns", share=0.5, restarts=60, least_s=1.0)]
    steps += [Step("drum", "drum", "passes bytes", 15.0, fills=True)] if drum else []
    return Progress([*steps, Step("page", "the page", "is drawn", 5.0)], budget_s, clock)
