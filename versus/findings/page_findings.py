# SPDX-License-Identifier: BSD-3-Clause
"""The findings of experiment 4: nginx, muduo and libio in pages per minute, on short and on long connections."""

import math

from versus import published
from versus.findings.judging import (CPU, FAR_AHEAD, NO_VARIANTS, UNUSABLE, Finding, Saying, Side,
                                     axis_of_compilers, cells_of, experiment_of, judged, known_names, ratio,
                                     throughput)

LIBRARIES = ("http-libevent", "http-beast", "muduo", "libio")
NEAR = 1.15  # "near each other": within what was published of muduo and libio from 10 clients on
PAGES = "pages/min"


class _Pages:
    """The experiment, and its loads by life and by clients."""

    def __init__(self, experiment: dict | None):
        self.experiment = experiment
        self.short = tuple(cells_of(experiment, short=True))
        self.long = tuple(cells_of(experiment, short=False))

    def clients(self, *counts: int, short: bool = True) -> tuple[str, ...]:
        return tuple(name for count in counts for name in cells_of(self.experiment, short=short, connections=count))

    def held(self, sentence: str, what: str, sides: tuple[Side, Side], bounds: tuple[float, float],
             missing: str = UNUSABLE) -> Finding:
        """Of the loads that both played; who is not packaged says how to be added."""
        strangers = [side.contender for side in sides if side.contender in published.RIVALS
                     and side.contender not in known_names(self.experiment)]
        missing = published.how_to_add(strangers[0]) if strangers else missing
        return throughput(self.experiment, Saying(4, sentence, sides, bounds, missing), what)

    def beside(self, sentence: str, names: tuple[str, str], cells: tuple[str, ...],
               bounds: tuple[float, float]) -> Finding:
        """Two servers over the same loads."""
        ran = tuple(cell for cell in cells if ratio(self.experiment, *(Side(name, (cell,)) for name in names)).known)
        return self.held(sentence, f"{PAGES}, {len(ran)} loads", (Side(names[0], ran), Side(names[1], ran)), bounds)

    def kept_alive(self, sentence: str, name: str) -> Finding:
        """Long against short connections of one server, at the same clients."""
        both = [(keep, short) for short in self.short if (keep := short.replace("short", "keep")) in self.long
                and ratio(self.experiment, Side(name, (keep,)), Side(name, (short,))).known]
        sides = (Side(name, tuple(keep for keep, _ in both)), Side(name, tuple(short for _, short in both)))
        return self.held(sentence, f"{PAGES}, keep-alive / a connection per request, {len(both)} loads", sides,
                         (2.0, math.inf), f"{name} did not run both")

    def fastest_library(self) -> str:
        leads = [(pair.ratio, name) for name in LIBRARIES
                 if (pair := ratio(self.experiment, Side("http-nginx", self.short), Side(name, self.short))).known]
        return min(leads)[1] if leads else ""


def _one_client(pages: _Pages) -> list[Finding]:
    """What one client gets of the pages of ten: who hands a connection over pays two switches of threads each time."""
    sentence = "One client is slow for whoever hands connections over (published, of 10 clients' pages: {})"
    shares = {"libio": "libio 0.17", "muduo": "muduo 0.31"}
    return [pages.held(sentence.format(share), f"{PAGES}, 1 client / 10 clients",
                       (Side(name, pages.clients(1)), Side(name, pages.clients(10))), (0.0, 0.5))
            for name, share in shares.items()]


def _of_peal(results: dict, pages: _Pages) -> list[Finding]:
    """What libio's author did to double his pages, as far as peal itself has the switch; `make models` has the rest."""
    compilers, cells, mode = axis_of_compilers(results)
    unoptimised = ratio(compilers, Side("peal-epoll-gcc-O0", cells), Side("peal-epoll", cells), CPU, mode)
    return [
        pages.beside("Pooled connection objects carry more pages than new ones (here peal itself)",
                     ("http-peal-epoll", "http-peal-epoll-unpooled"), pages.short, (1.0, math.inf)),
        judged(4, "-O2 instead of -O0 makes a server faster (here peal itself)",
               "server CPU per message, g++ -O0 / g++ -O2", unoptimised, (1.0, math.inf),
               NO_VARIANTS),
    ]


def of(results: dict) -> list[Finding]:
    pages = _Pages(experiment_of(results, "pages"))
    best = pages.fastest_library()
    crowds = pages.clients(10, 100, 1000)
    return [
        pages.beside("With a connection per request nginx is far ahead of muduo (published: 1.4 to 1.6 times)",
                     ("http-nginx", "muduo"), pages.short, (FAR_AHEAD, math.inf)),
        pages.beside("With a connection per request nginx is far ahead of libio (published: 1.5 to 2.9 times)",
                     ("http-nginx", "libio"), pages.short, (FAR_AHEAD, math.inf)),
        pages.beside("With a connection per request nginx is far ahead of the fastest of the libraries here",
                     ("http-nginx", best or "http-libevent"), pages.short, (FAR_AHEAD, math.inf)),
        pages.beside("libio and muduo are near each other from 10 clients on (published: 0.96 to 1.01, short)",
                     ("libio", "muduo"), crowds, (1 / NEAR, NEAR)),
        pages.beside("With one client libio is clearly behind muduo (published: 0.54)", ("libio", "muduo"),
                     pages.clients(1), (0.0, 1 / FAR_AHEAD)),
        pages.kept_alive("Keep-alive carries at least twice the pages: libio (published: 2.4 to 5.2 times)", "libio"),
        pages.kept_alive("Keep-alive carries at least twice the pages: muduo (published: 2.4 to 4.0 times)", "muduo"),
        pages.kept_alive("Keep-alive carries at least twice the pages: libevent", "http-libevent"),
        *_one_client(pages),
        *_of_peal(results, pages),
    ]
