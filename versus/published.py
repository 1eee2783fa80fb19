# SPDX-License-Identifier: BSD-3-Clause
"""The published figures of experiments 1 to 4, and their sources. Nothing here was measured by this lab."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A publication of findings."""

    experiment: int
    what: str
    where: str


SOURCES = (
    Source(1, "Chen Shuo, two articles on muduo's throughput beside asio's and libevent's, 2010 (muduo 0.1.1, "
              "asio 1.4, libevent 2.0.6; also section 6.5.1 of his book)",
           "http://www.cppblog.com/Solstice/archive/2010/09/05/muduo_vs_libevent.html"),
    Source(2, "M. Lehmann, libevent beside libev, 2008 to 2011 (libev 3.31, libevent 1.4.3), and libev's README",
           "http://libev.schmorp.de/bench.html"),
    Source(2, "Chen Shuo, drum passing with muduo 0.1.2 and libevent 2.0.6, September 2010 (section 6.5.2 of his book)",
           "its figures are cited from a secondary source"),
    Source(3, "C++ network libraries as REST servers (cppcms, asio, libevent, muduo, nginx) under wrk, 2016",
           "http://wfuyu.com/mvc/25177.html, one of several copies"),
    Source(4, "libio's README: libio, muduo and nginx under webbench, 2019", "https://github.com/wxggg/libio"),
    Source(5, "MyEchoServer: one echo service in 23 concurrency models", "https://github.com/newland2024/MyEchoServer"),
)

# Averages over the matrix of experiment 1: the first library's lead over the second. "largest" is the largest lead in
# single cases.
PINGPONG = (
    ("muduo", "asio", 16384, "average", 1.15),
    ("muduo", "libevent", 4096, "average", 1.18),
    ("muduo", "libevent", 16384, "largest", 1.70),
)
LIBEVENT_READS = 4096  # bytes per read, at most


@dataclass(frozen=True)
class RestRow:
    """A server of experiment 3 as published: requests/s (least, most, average), CPU (100 is one core) and memory."""

    name: str
    requests: tuple[int, int, int]
    cpu: str
    memory: str
    saturated: bool
    clang_o3: tuple[int, int, int] | None
    here: str  # the contender here that replaces it; "" if no package has it


REST = (
    RestRow("libevent", (104797, 112025, 111998), "684-768", "7276 KB-9.9 MB", True, (113373, 114072, 113713),
            "http-libevent"),
    RestRow("asio", (18971, 19246, 19163), "302-357", "5522-5976 KB", False, (33069, 34247, 33360),
            "http-beast-locked"),
    RestRow("cppcms", (15434, 16391, 15500), "230-249", "9210-9428 KB", False, (14252, 16124, 15820), ""),
    RestRow("muduo", (286586, 289423, 287332), "680-754", "6644-7332 KB", True, (303202, 307204, 305839), ""),
    RestRow("nginx", (112658, 114127, 113406), "8 x 80-86", "8 x 44 MB", True, None, "http-nginx"),
)
REST_LOAD = "60 s, 200 connections, 4 client threads, 8 server threads"

# Pages per minute of experiment 4 by clients: the mean of three runs, after one run that was discarded.
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

# Servers that are in no package. `scripts/rivals` builds them.
RIVALS = ("muduo", "libio", "cppcms")
NOT_PACKAGED = "is not packaged"


def pages(life: str, name: str, clients: int) -> int:
    return PAGES[life][name][CLIENTS.index(clients)]


def how_to_add(name: str, kind: str = "http") -> str:
    """Returns how to add a server that is in no package."""
    prefix = "" if kind == "pingpong" else f"{kind}:"
    return (f"{name} {NOT_PACKAGED}; build it with scripts/rivals, or add your own with "
            f"--contender '{prefix}{name}=COMMAND'")
