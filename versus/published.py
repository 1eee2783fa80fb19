# SPDX-License-Identifier: BSD-3-Clause
"""What was published of experiments 1, 3 and 4, figure by figure. Nothing here was measured by this lab."""

from dataclasses import dataclass

# Averages over the matrix of experiment 1: the lead of the first over the second.
PINGPONG = (
    ("muduo", "asio", 16384, "average", 1.15),
    ("muduo", "libevent 2.0", 4096, "average", 1.18),
    ("muduo", "asio", 16384, "largest", 1.70),
)


@dataclass(frozen=True)
class RestRow:
    """A server of experiment 3: requests/s least, most and average; CPU (100 is a core) and memory as printed then."""

    name: str
    requests: tuple[int, int, int]
    cpu: str
    memory: str
    saturated: bool
    clang_o3: tuple[int, int, int] | None
    here: str  # the contender of this lab that stands for it; "" where it is not packaged


REST = (
    RestRow("libevent", (104797, 112025, 111998), "684-768", "7276 KB-9.9 MB", True, (113373, 114072, 113713),
            "http-libevent"),
    RestRow("asio", (18971, 19246, 19163), "302-357", "5522-5976 KB", False, (33069, 34247, 33360), "http-beast"),
    RestRow("cppcms", (15434, 16391, 15500), "230-249", "9210-9428 KB", False, (14252, 16124, 15820), ""),
    RestRow("muduo", (286586, 289423, 287332), "680-754", "6644-7332 KB", True, (303202, 307204, 305839), ""),
    RestRow("nginx", (112658, 114127, 113406), "8 x 80-86", "8 x 44 MB", True, None, "http-nginx"),
)
REST_LOAD = "60 s, 200 connections, 4 client threads, 8 server threads"

# Pages per minute of experiment 4 by clients: mean of three runs after one that was discarded.
CLIENTS = (1, 10, 100, 1000)
PAGES = {
    "short": {
        "libio": (355880, 2114264, 2249564, 2176209),
        "muduo": (657923, 2100738, 2340454, 2277368),
        "nginx": (1033189, 3396090, 3273879, 3311860),
    },
    "long": {
        "libio": (1835737, 5150794, 5774514, 5316412),
        "muduo": (2602285, 5858807, 5578503, 5379136),
    },
}
PAGES_LOAD = "60 s, 4 worker threads or processes"

NOT_PACKAGED = ("muduo", "libio", "cppcms")


def pages(life: str, name: str, clients: int) -> int:
    return PAGES[life][name][CLIENTS.index(clients)]


NOT_PACKAGED = "is not packaged"


def how_to_add(name: str, kind: str = "http") -> str:
    """What to do about a server no package has."""
    prefix = "http:" if kind == "http" else ""
    return f"{name} {NOT_PACKAGED}; add your own build with --contender '{prefix}{name}=COMMAND'"
