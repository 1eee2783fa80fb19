# SPDX-License-Identifier: BSD-3-Clause
"""Rules about who may know whom: floors, private parts, and third parties; and the line budget,
which is printed, not enforced.

A rule is a generator over the tree of (path, line, rule, sentence).
"""
import re

# What each folder may include besides itself. Down only: a floor sees those below it; `coro` builds on its neighbour
# `net`; tls, http and rpc never see each other, nor do inspect and process, nor wire and engine.
_CORE = ["peal/base", "peal/wire", "peal/engine", "peal/loop", "peal/net", "peal/coro"]
_PROTOCOLS = ["peal/tls", "peal/http", "peal/rpc"]
_LIBRARY = [*_CORE, *_PROTOCOLS, "peal/inspect", "peal/process"]
MAY_SEE = {
    "peal/base": [],
    "peal/wire": ["peal/base"],
    "peal/engine": ["peal/base"],
    "peal/loop": _CORE[:3],
    "peal/net": _CORE[:4],
    "peal/coro": _CORE[:5],
    "peal/tls": _CORE,
    "peal/http": _CORE,
    "peal/rpc": _CORE,
    "peal/inspect": _CORE + _PROTOCOLS,
    "peal/process": _CORE + _PROTOCOLS,
    "load": ["peal/base", "peal/wire", "peal/engine", "peal/loop"],
    "models": _LIBRARY,
    "cli": [*_LIBRARY, "load", "models"],
    "examples": _LIBRARY,
    "fuzz": _LIBRARY,
    "versus": _LIBRARY,
    "tests": [*_LIBRARY, "load", "models", "cli", "examples"],
}

# Header pattern -> where it may be included, as path patterns; the sentence names the owner.
_TESTS = r"^tests/|_test\.cc$"
_CONTENDERS = r"^versus/contenders/"
THIRD_PARTIES = [
    (r"liburing(/.*)?\.h|linux/io_uring\.h", [r"^peal/engine/parts/uring_\w+\.(h|cc)$", _CONTENDERS, r"^models/"],
     "only peal/engine/parts/uring_* and models/ speak io_uring"),
    (r"sys/epoll\.h", [r"^peal/engine/parts/", _CONTENDERS, r"^models/"], "only an engine knows epoll"),
    (r"poll\.h|sys/poll\.h|sys/select\.h", [r"^peal/engine/parts/", _CONTENDERS, r"^models/", _TESTS],
     "only an engine knows poll and select"),
    (r"openssl/.*", [r"^peal/tls/", r"^tests/"], "only peal/tls knows OpenSSL"),
    (r"google/protobuf/.*", [r"^peal/rpc/", r"^tests/"], "only peal/rpc knows protobuf"),
    (r"nghttp2/.*", [r"^peal/http/", r"^tests/"], "only peal/http knows nghttp2"),
    (r"ares(_.*)?\.h", [r"^peal/net/"], "only peal/net knows c-ares"),
    (r"backtrace(-supported)?\.h", [r"^peal/base/stack_trace\.cc$"],
     "only peal/base/stack_trace.cc knows libbacktrace"),
    (r"spdlog/.*", [r"^peal/base/log\.cc$"], "only peal/base/log.cc knows spdlog"),
    (r"boost/context/.*", [r"^models/"], "only models/ knows Boost.Context"),
    (r"CLI/.*", [r"^cli/"], "only cli/ knows CLI11"),
    (r"nlohmann/.*", [r"^cli/", r"^load/", r"^models/", r"^peal/inspect/", r"^examples/", r"^tests/"],
     "only the lab, the examples and peal/inspect know nlohmann-json"),
    (r"uv\.h|uv/.*|event\.h|event2/.*|ev\.h|(boost/)?asio(/.*|\.hpp)|boost/beast/.*|(ace|Poco)/.*",
     [_CONTENDERS, r"_bench\.cc$"],
     "other network libraries are contenders"),
    (r"gtest/.*|gmock/.*", [_TESTS], "only tests know GoogleTest"),
    (r"benchmark/.*", [r"_bench\.cc$"], "only *_bench.cc knows Google Benchmark"),
]

# Code lines, without comments, blank lines and tests.
LINE_BUDGET = {"peal/base": 2000, "peal/engine": 2300, "peal/loop": 900, "peal/net": 2300, "peal/coro": 1000}


def room_of(path):
    """The folder of MAY_SEE that `path` lives in: peal/net for peal/net/parts/x.h, cli for cli/main.cc."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "peal" else parts[0]


def _is_part(path):
    return path.startswith("peal/") and "/parts/" in path


def floors(tree):
    for file in filter(lambda f: f.is_c, tree.files):
        room = room_of(file.path)
        if room not in MAY_SEE:
            yield file.path, 1, "floors", f"{room}/ has no place in the house; see MAY_SEE in tools/tidy_rules_house.py"
            continue
        for include in file.includes:
            target = tree.resolve(file, include.name)
            other = room_of(target.path if target else include.name)
            if other == room or other not in MAY_SEE or other in MAY_SEE[room]:
                continue
            if file.is_test and (target.path if target else include.name).startswith("tests/support/"):
                continue
            yield file.path, include.line, "floors", f"{room} may not include {other}: down only"


def privacy(tree):
    for file in filter(lambda f: f.is_c, tree.files):
        for include in file.includes:
            target = tree.resolve(file, include.name)
            path = target.path if target else include.name
            if not _is_part(path):
                continue
            if room_of(path) != room_of(file.path):
                yield file.path, include.line, "privacy", f"{path} is private to {room_of(path)}"
            elif file.suffix == ".h" and not _is_part(file.path):
                yield file.path, include.line, "privacy", f"a public header may not include the private {path}"


def third_parties(tree):
    for file in filter(lambda f: f.is_c, tree.files):
        for include in file.includes:
            for header, places, sentence in THIRD_PARTIES:
                if re.fullmatch(header, include.name) and not any(re.search(place, file.path) for place in places):
                    yield file.path, include.line, "third-party", f"<{include.name}>: {sentence}"


def spent_lines(tree):
    """Folder -> code lines, for every folder of the library, tests and benchmarks left out."""
    spent = dict.fromkeys(LINE_BUDGET, 0)
    for file in tree.files:
        if file.is_c and file.path.startswith("peal/") and not file.is_test:
            lines = sum(1 for line in file.uncommented.splitlines() if line.strip())
            spent[room_of(file.path)] = spent.get(room_of(file.path), 0) + lines
    return spent


RULES = [floors, privacy, third_parties]
