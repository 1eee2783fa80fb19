# SPDX-License-Identifier: BSD-3-Clause
"""Rules about who may know whom: floors, rooms, private parts, and third parties; and about how large things get:
the entries of a folder, the code lines of a floor.

A rule is a generator over the tree of (path, line, rule, sentence).
"""
import re
from collections import defaultdict

# What each floor may include besides itself: those below it. `coro` builds on its neighbour `net`, `sync` on both, and
# `share` on `sync`;
# wire and engine never see each other, nor do tls, http and rpc, nor inspect and process. The simulator is for tests
# and examples.
_KERNEL = ["peal/base", "peal/engine", "peal/observe"]
_CORE = [*_KERNEL, "peal/wire", "peal/loop", "peal/net", "peal/coro", "peal/sync", "peal/share"]
_PROTOCOLS = ["peal/tls", "peal/http", "peal/rpc"]
_LIBRARY = [*_CORE, *_PROTOCOLS, "peal/inspect", "peal/process"]
MAY_SEE = {
    "peal/base": [],
    "peal/wire": ["peal/base"],
    "peal/engine": ["peal/base"],
    "peal/observe": ["peal/base"],
    "peal/loop": _KERNEL,
    "peal/sim": [*_KERNEL, "peal/loop"],
    "peal/net": [*_KERNEL, "peal/wire", "peal/loop"],
    "peal/coro": [*_KERNEL, "peal/wire", "peal/loop", "peal/net"],
    "peal/sync": [*_KERNEL, "peal/wire", "peal/loop", "peal/net", "peal/coro"],
    "peal/share": [*_KERNEL, "peal/wire", "peal/loop", "peal/net", "peal/coro", "peal/sync"],
    "peal/tls": [*_KERNEL, "peal/wire", "peal/loop"],
    "peal/http": _CORE,
    "peal/protobuf": _CORE,
    "peal/rpc": _CORE,
    "peal/inspect": _CORE + _PROTOCOLS,
    "peal/process": _CORE + _PROTOCOLS,
    "load": [*_KERNEL, "peal/wire", "peal/loop", "peal/tls"],
    "models": _LIBRARY,
    "cli": [*_LIBRARY, "load", "models"],
    "cli/rpc": [*_LIBRARY, "peal/protobuf", "load", "cli"],  # `peal-rpc`: `peal` does not link protobuf
    "examples": [*_LIBRARY, "peal/protobuf", "peal/sim"],
    "starters": [*_LIBRARY, "peal/protobuf", "peal/sim"],
    "fuzz": [*_LIBRARY, "peal/protobuf", "peal/sim"],
    "versus": [*_LIBRARY, "peal/protobuf"],
    "tests": [*_LIBRARY, "peal/protobuf", "peal/sim", "load", "models", "cli", "cli/rpc", "examples"],
}
# What every test may include besides; and those of `observe`, to whom a Loop is what there is to watch, and those of
# `protobuf`, whose methods the inspector shows.
_FOR_TESTS = ("tests/support/", "tests/protobuf/", "peal/sim/")
_FOR_TESTS_OF = {"peal/observe": ("peal/loop/",), "peal/protobuf": ("peal/inspect/inspector.h",)}
# What a folder may include of another that it may not see: fuzzers send the messages of the tests.
_BESIDES = {"fuzz": ("tests/protobuf/",)}

# Header pattern -> where it may be included, as path patterns; the sentence names the owner.
_TESTS = r"^tests/|_test\.cc$"
_CONTENDERS = r"^versus/contenders/"
THIRD_PARTIES = [
    (r"liburing(/.*)?\.h|linux/io_uring\.h", [r"^peal/engine/uring/", _CONTENDERS, r"^models/"],
     "only peal/engine/uring and models/ speak io_uring"),
    (r"sys/epoll\.h", [r"^peal/engine/", _CONTENDERS, r"^models/"], "only an engine knows epoll"),
    (r"poll\.h|sys/poll\.h|sys/select\.h",
     [r"^peal/(engine|sim)/", r"^peal/sync/async_fd\.cc$", _CONTENDERS, r"^models/", _TESTS],
     "only an engine knows poll and select, and AsyncFd, which asks whether it need wait"),
    (r"openssl/.*", [r"^peal/tls/", _CONTENDERS, r"^tests/"], "only peal/tls knows OpenSSL"),
    (r"google/protobuf/.*|.*\.pb\.h",
     [r"^peal/(protobuf|rpc)/", r"^cli/rpc/", r"^examples/", r"^starters/rpc/", r"^fuzz/", _CONTENDERS, r"^tests/"],
     "only peal/protobuf, peal/rpc and `peal-rpc` know protobuf"),
    (r"libdeflate\.h", [r"^peal/protobuf/codec/adler32\.cc$"], "only peal/protobuf/codec/adler32.cc knows libdeflate"),
    (r"nghttp2/.*", [r"^peal/http/", r"^tests/"], "only peal/http knows nghttp2"),
    (r"ares(_.*)?\.h", [r"^peal/net/"], "only peal/net knows c-ares"),
    (r"backtrace(-supported)?\.h", [r"^peal/base/stack_trace\.cc$"],
     "only peal/base/stack_trace.cc knows libbacktrace"),
    (r"spdlog/.*", [r"^peal/base/log\.cc$"], "only peal/base/log.cc knows spdlog"),
    (r"boost/context/.*", [r"^models/"], "only models/ knows Boost.Context"),
    (r"CLI/.*", [r"^cli/"], "only cli/ knows CLI11"),
    (r"nlohmann/.*", [r"^cli/", r"^load/", r"^models/", r"^peal/inspect/", r"^examples/", r"^starters/http/",
                      r"^tests/", r"^peal/http/server/http_json(\.h|_test\.cc)$"],
     "only the lab, the examples, peal/inspect and http_json.h, which nothing includes, know nlohmann-json"),
    (r"uv\.h|uv/.*|event\.h|event2/.*|ev\.h|(boost/)?asio(/.*|\.hpp)|boost/beast/.*|(ace|Poco)/.*",
     [_CONTENDERS, r"_bench\.cc$"],
     "other network libraries are contenders"),
    (r"gtest/.*|gmock/.*", [_TESTS], "only tests know GoogleTest"),
    (r"benchmark/.*", [r"_bench\.cc$"], "only *_bench.cc knows Google Benchmark"),
]

# Tokens of C++, without comments and tests: what was there on 28 November 2026 and a tenth. Tokens, not lines: a line
# that is split to be read is not dearer. peal/inspect got its history, pages with a query, and text for terminals on 29
# November. Then peal/observe got the metrics of a program, and peal/inspect pages of them and of methods and routes.
TOKEN_BUDGET = {"peal/base": 20300, "peal/wire": 61200, "peal/engine": 32000, "peal/observe": 12100,
                "peal/loop": 12300, "peal/sim": 26800, "peal/net": 41600, "peal/coro": 16000, "peal/sync": 9300,
                "peal/share": 4500, "peal/tls": 21100, "peal/http": 90100, "peal/protobuf": 38200,
                "peal/inspect": 38600, "peal/process": 18600}
# Files and folders in one folder that somebody looks through.
MOST_ENTRIES = 45


def floor_of(path):
    """The folder of MAY_SEE that `path` lives in: peal/net for peal/net/parts/x.h, cli for cli/main.cc."""
    parts = path.split("/")
    if path.startswith("cli/rpc/"):
        return "cli/rpc"
    return "/".join(parts[:2]) if parts[0] == "peal" else parts[0]


def _room_of_part(path):
    """The room that a private file belongs to: peal/http for peal/http/parts/x.h; None for what is public."""
    return path.split("/parts/")[0] if path.startswith("peal/") and "/parts/" in path else None


def _meant(tree, file, include):
    target = tree.resolve(file, include.name)
    return target.path if target else include.name


def floors(tree):
    for file in filter(lambda f: f.is_c, tree.files):
        floor = floor_of(file.path)
        if floor not in MAY_SEE:
            yield file.path, 1, "floors", f"{floor}/ has no place in the house: MAY_SEE in tools/tidy_rules_house.py"
            continue
        for include in file.includes:
            path = _meant(tree, file, include)
            other = floor_of(path)
            if other == floor or other not in MAY_SEE or other in MAY_SEE[floor]:
                continue
            if path.startswith(_BESIDES.get(floor, ())):
                continue
            if file.is_test and path.startswith(_FOR_TESTS + _FOR_TESTS_OF.get(floor, ())):
                continue
            yield file.path, include.line, "floors", f"{floor} may not include {other}: down only"


def _node(folder, path):
    """What `path` is in `folder`: one of its rooms (with a slash), or a file pair of its own."""
    inside = path[len(folder) + 1:]
    if inside.startswith("parts/") or "/" not in inside:
        return inside.rsplit(".", 1)[0]
    return inside.split("/")[0] + "/"


def rooms(tree):
    """No circle leads through a room: what a room of a floor includes never leads back to it."""
    sources = [f for f in tree.files if f.is_c and f.path.startswith("peal/") and not f.is_test]
    for folder in sorted({"/".join(f.path.split("/")[:2]) for f in sources if f.path.count("/") > 1}):
        arrows, lines = defaultdict(set), {}
        for file in filter(lambda f: f.path.startswith(folder + "/"), sources):
            for include in file.includes:
                path = _meant(tree, file, include)
                if not path.startswith(folder + "/"):
                    continue
                start, end = _node(folder, file.path), _node(folder, path)
                if start != end:
                    arrows[start].add(end)
                    lines.setdefault((start, end), (file.path, include.line))
        for start, ends in sorted(arrows.items()):
            for end in sorted(ends) if start.endswith("/") else []:
                if start in _reached(arrows, end):
                    path, line = lines[start, end]
                    yield path, line, "rooms", f"{folder}/{start} includes {end}, which leads back to it"


def _reached(arrows, start):
    seen, waiting = {start}, [start]
    while waiting:
        for end in arrows.get(waiting.pop(), set()) - seen:
            seen.add(end)
            waiting.append(end)
    return seen


def privacy(tree):
    for file in filter(lambda f: f.is_c, tree.files):
        for include in file.includes:
            path = _meant(tree, file, include)
            room = _room_of_part(path)
            if room is None:
                continue
            if not file.path.startswith(room + "/"):
                yield file.path, include.line, "privacy", f"{path} is private to {room}"
            elif file.suffix == ".h" and _room_of_part(file.path) is None:
                yield file.path, include.line, "privacy", f"a public header may not include the private {path}"


def third_parties(tree):
    for file in filter(lambda f: f.is_c, tree.files):
        for include in file.includes:
            for header, places, sentence in THIRD_PARTIES:
                if re.fullmatch(header, include.name) and not any(re.search(place, file.path) for place in places):
                    yield file.path, include.line, "third-party", f"<{include.name}>: {sentence}"


_TOKEN = re.compile(r"\w[\w'.]*|\"(?:[^\"\\\n]|\\.)*\"|::|->|<=>|[-+*/%&|^<>=!]=|&&|\|\||<<|>>|\+\+|--|\.\.\.|[^\w\s]")


def spent(tree):
    """Floor -> (lines, tokens) of code, for every floor of the library, tests and benchmarks left out."""
    found = dict.fromkeys(TOKEN_BUDGET, (0, 0))
    for file in tree.files:
        if file.is_c and file.path.startswith("peal/") and not file.is_test:
            lines, tokens = found.get(floor_of(file.path), (0, 0))
            lines += sum(1 for line in file.uncommented.splitlines() if line.strip())
            found[floor_of(file.path)] = lines, tokens + len(_TOKEN.findall(file.uncommented))
    return found


def budgets(tree):
    for floor, (_, tokens) in spent(tree).items():
        if tokens > (most := TOKEN_BUDGET.get(floor, 0)):
            yield floor, 1, "budget", f"{tokens} tokens of code, of {most}: write less or move it"


def entries(tree):
    """A folder that lists more than one can look through hides what is in it."""
    inside = defaultdict(set)
    for file in tree.files:
        parts = file.path.split("/")
        for depth in range(1, len(parts)):
            inside["/".join(parts[:depth])].add(parts[depth])
    for folder, names in sorted(inside.items()):
        if len(names) > MOST_ENTRIES:
            yield folder, 1, "entries", f"{len(names)} entries, of {MOST_ENTRIES}: give some a room"


RULES = [floors, rooms, privacy, third_parties, budgets, entries]
