# SPDX-License-Identifier: BSD-3-Clause
"""One framed-echo load of experiment 5: what the clients do, and what a request costs the server besides its echo."""

import os
from dataclasses import dataclass, replace

from versus.experiments import CLOSED, RATE, Load, many, size_words

LONG, ONE = 0, 1  # requests a connection
# Files a process needs beside its connections.
SPARE_FDS = 128
# More connections than this come from several source addresses: one has some 28,000 ports for one target.
ONE_ADDRESS = 10_000
SOURCES = "127.0.0.2-127.0.0.9"


def server_threads() -> int:
    """How many workers a model that has several gets: a CPU is left to the generator; never fewer than two, or a pool
    would be none."""
    return max(2, len(os.sched_getaffinity(0)) - 1)


@dataclass(frozen=True)
class EchoCell(Load):
    """Frames of `size` bytes on `connections`, each of which lives for `requests` requests (0: for ever)."""

    size: int
    connections: int
    requests: int = LONG
    work: str = ""  # what a request costs besides: a time
    work_kind: str = "cpu"  # or "sleep": it holds its thread
    idle: int = 0
    modes: tuple[str, ...] = (CLOSED,)
    rated: bool = False  # a situation of its own beside the closed loop, whose name says so
    pool: int = 0  # workers of a model that has several; 0: server_threads()
    client_threads: int = 1
    options: tuple[tuple[str, str], ...] = ()  # of the models that take them
    only: tuple[str, ...] = ()  # patterns of those who run here; none: everybody
    without: tuple[str, ...] = ()
    label: str = ""  # what a published load was called by
    asked: int = 0  # connections of the published load, where fewer fit
    least_turn_s: float = 0.0

    @property
    def short(self) -> bool:
        return self.requests > 0

    @property
    def threads(self) -> int:
        return self.pool or server_threads()

    @property
    def name(self) -> str:
        parts = [f"{size_words(self.size)}x{self.asked or self.connections}"]
        parts += ["short"] if self.requests == ONE else [f"{self.requests}each"] if self.requests else []
        parts += [f"{self.work_kind}{self.work}"] if self.work else []
        parts += [f"idle{self.idle}"] if self.idle else []
        parts += [f"{self.pool}w"] if self.pool else []
        parts += ["rate"] if self.rated else []
        return "-".join(([self.label] if self.label else []) + parts)

    @property
    def title(self) -> str:
        parts = [many(self.connections), size_words(self.size, " ")]
        parts += ["a connection per request"] if self.requests == ONE else \
            [f"{self.requests} requests a connection"] if self.requests else []
        if self.work:
            parts.append(f"each request {'computes' if self.work_kind == 'cpu' else 'sleeps'} {self.work}")
        parts += [f"{self.idle:,} idle ones beside"] if self.idle else []
        parts += ["at a fixed rate"] if self.rated else []
        if self.asked > self.connections:
            parts.append(f"of {self.asked:,} published: no more fit under the limit of open files")
        return (f"{self.label}: " if self.label else "") + ", ".join(parts)

    @property
    def life(self) -> str:
        return "long" if not self.requests else "short" if self.requests == ONE else f"{self.requests} each"

    def at_a_rate(self) -> "EchoCell":
        return replace(self, modes=(RATE,), rated=True)

    def fitted(self, fd_limit: int) -> "EchoCell":
        """The same as far as the limit of open files goes; the name stays, the title says so."""
        most = (fd_limit - SPARE_FDS - self.idle) // self.client_threads * self.client_threads
        return self if self.connections <= most else replace(self, connections=most,
                                                             asked=self.asked or self.connections)

    def generator_words(self) -> list[str]:
        """What `peal load echo` is told beside the target, the length and the rate."""
        words = ["--size", str(self.size)]
        words += ["--requests-per-connection", str(self.requests)] if self.requests else []
        words += ["--idle-connections", str(self.idle)] if self.idle else []
        words += ["--source-addresses", SOURCES] if self.connections + self.idle > ONE_ADDRESS else []
        return words

    def facts(self) -> dict:
        """What a page says of the cell beside what every cell has."""
        return {"requests": self.requests, "life": self.life, "work": self.work, "work_kind": self.work_kind,
                "idle": self.idle, "rated": self.rated, "label": self.label, "asked": self.asked,
                "options": list(map(list, self.options))}
