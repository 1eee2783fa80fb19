# SPDX-License-Identifier: BSD-3-Clause
"""One framed-echo load of experiment 5: the behaviour of the clients, and the extra work per request."""

import os
from dataclasses import dataclass, replace

from versus.experiments import CLOSED, RATE, Load, many, size_words

LONG, ONE = 0, 1  # requests per connection; 0 means without limit
# File descriptors that a process needs besides its connections.
SPARE_FDS = 128
# With more connections than this, clients use several source addresses: one address has about 28,000 ports per target.
ONE_ADDRESS = 10_000
SOURCES = "127.0.0.2-127.0.0.9"


def server_threads() -> int:
    """Returns the number of workers for a model that has several. One CPU is left to the generator. At least two,
    because a pool of one would be no pool."""
    return max(2, len(os.sched_getaffinity(0)) - 1)


@dataclass(frozen=True)
class EchoCell(Load):
    """Frames of `size` bytes on `connections` connections. Each connection ends after `requests` requests (0:
    never)."""

    size: int
    connections: int
    requests: int = LONG
    work: str = ""  # extra work per request, as a duration
    work_kind: str = "cpu"  # "cpu": the work computes; "sleep": it blocks its thread
    idle: int = 0
    modes: tuple[str, ...] = (CLOSED,)
    rated: bool = False  # the variant at a fixed rate of a closed-loop cell; its name says so
    pool: int = 0  # workers of a model that has several; 0: server_threads()
    client_threads: int = 1
    options: tuple[tuple[str, str], ...] = ()  # options for the models that accept them
    only: tuple[str, ...] = ()  # name patterns of the models that run here; empty: all
    without: tuple[str, ...] = ()
    label: str = ""  # the name of this load in its publication
    asked: int = 0  # connections in the publication, if fewer fit here
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
        parts += [f"{self.idle:,} idle connections beside them"] if self.idle else []
        parts += ["at a fixed rate"] if self.rated else []
        if self.asked > self.connections:
            parts.append(f"published with {self.asked:,}, which exceed the limit of open files")
        return (f"{self.label}: " if self.label else "") + ", ".join(parts)

    @property
    def life(self) -> str:
        return "long" if not self.requests else "short" if self.requests == ONE else f"{self.requests} each"

    def at_a_rate(self) -> "EchoCell":
        return replace(self, modes=(RATE,), rated=True)

    def fitted(self, fd_limit: int) -> "EchoCell":
        """Returns the cell with as many connections as the limit of open files allows. The name stays; the title says
        so."""
        most = (fd_limit - SPARE_FDS - self.idle) // self.client_threads * self.client_threads
        return self if self.connections <= most else replace(self, connections=most,
                                                             asked=self.asked or self.connections)

    def generator_words(self) -> list[str]:
        """Returns options of `peal load echo`, without the target, the length and the rate."""
        words = ["--size", str(self.size)]
        words += ["--requests-per-connection", str(self.requests)] if self.requests else []
        words += ["--idle-connections", str(self.idle)] if self.idle else []
        words += ["--source-addresses", SOURCES] if self.connections + self.idle > ONE_ADDRESS else []
        return words

    def facts(self) -> dict:
        """Returns facts of this cell for a page, in addition to those of every cell."""
        return {"requests": self.requests, "life": self.life, "work": self.work, "work_kind": self.work_kind,
                "idle": self.idle, "rated": self.rated, "label": self.label, "asked": self.asked,
                "options": list(map(list, self.options))}
