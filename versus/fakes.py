# SPDX-License-Identifier: BSD-3-Clause
"""Stand-ins for the harness's own tests: a server, and a generator whose figures are made up but shaped like the real.

The server's cost depends on its program's name, so a test knows which way a pair must come out.
"""

import json
import random
import sys
from pathlib import Path

# Made with the public hdrhistogram package; what it must read back as stands in hdr_test.py.
GOLDEN = "HISTFAAAADR4nJNpmSzMwMAgwgABzFCaEch0M9ixgMH+A1SAiYnpOD/LagEmpo0eLN1uTB/zmADQyQkw"
PYTHON = "/usr/bin/python3"
HTTP_NAMES = ("http_raw_epoll", "http_nginx", "http_libevent", "http_beast", "http_beast_locked")
# Server CPU per request, from which a closed loop's speed follows.
HTTP_COST_NS = {"http_raw_epoll": 4000.0, "http_nginx": 8000.0, "http_libevent": 12000.0, "http_beast": 39000.0,
                "http_beast_locked": 40000.0}
# The models a fake program lists, and their server CPU per request.
MODEL_COST_NS = {"blocking_single": 3000.0, "blocking_process_per_connection": 8000.0,
                 "half_sync_unbounded_queue": 9000.0, "reactor_epoll": 4000.0,
                 "libio_accept_thread": 7000.0, "reactor_epoll_edge": 4400.0,
                 "reactor_select": 6000.0, "peal_callbacks": 4040.0}
MODEL_OPTIONS = {"libio_accept_thread": ["--workers", "--queues"],
                 "half_sync_unbounded_queue": ["--workers", "--io-threads", "--reply-by"], "reactor_epoll": ["--write"],
                 "peal_callbacks": ["--engine", "--workers"]}
NAMES = ("raw_epoll", "raw_uring", "libevent", "asio_shared", "asio_per_thread", "libuv")

SERVER = f"""#!{PYTHON} -ISE
# Sends back whatever arrives, one connection at a time.
import signal, socket, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
words = sys.argv[1:]
if words[0] == "load":
    sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
    sys.path.append("/usr/lib/python3/dist-packages")
    if words[1] == "duel":
        from versus.duel.duel_fakes import load_duel as load
    else:
        from versus.fakes import load
    sys.exit(load(words))
if words[:2] == ["model", "list"]:
    sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
    from versus.fakes import listed_models
    import json
    print(json.dumps(listed_models()))
    sys.exit(0)
if "blocking_process_per_connection" in words:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if "io_uring" in words and words[0] == "model":
    sys.exit("io_uring is forbidden here")
host, port = words[words.index("--listen") + 1].rsplit(":", 1)
listener = socket.create_server((host, int(port)))
print("listening on %s:%d" % listener.getsockname(), flush=True)
while True:
    peer, _ = listener.accept()
    while data := peer.recv(65536):
        peer.sendall(data)
    peer.close()
"""


def write_program(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def make_bin(folder: Path, names: tuple[str, ...] = NAMES) -> Path:
    """A folder of programs as `make build` would leave it."""
    (folder / "contenders").mkdir(parents=True)
    for path in [folder / "peal", *(folder / "contenders" / name for name in names)]:
        write_program(path, SERVER)
    return folder


def listed_models() -> list[dict]:
    """What `peal model list --json` would say."""
    return [{"name": name, "historic": name.title().replace("_", ""), "family": name.partition("_")[0],
             "line": f"what {name} is", "serves": "one" if name == "blocking_single" else "many", "processes": False,
             "own_listeners": False, "times_out": name != "blocking_single", "options": MODEL_OPTIONS.get(name, [])}
            for name in MODEL_COST_NS]


def echo_document(name: str, size: int, connections: int, rate: float, noise: float, requests: int = 0,
                  queueing: bool = True) -> dict:
    """A run of a model: who serves one connection answers one, and the others wait, which is an error unless it is
    expected (`queueing`)."""
    model = name.partition("+")[0].removesuffix("-twin")
    cost = MODEL_COST_NS.get(model, 5000.0) * noise * (1.3 if name.endswith("+io") else 1.0)
    found = document(size, connections, rate, cost, 1e9 / cost / (4 if requests else 1))
    few = model == "blocking_single" and not requests and connections > 1
    found["connections"]["served"] = 1 if few else connections
    found["connections"]["queued"] = connections - 1 if few and queueing else 0
    if few and not queueing:
        found["errors"] = {"no_answer": connections - 1}
        found["gates"] = [{"name": "bytes", "verdict": "INVALID", "sentence": "Bytes were sent and did not come back."}]
    return found | {"experiment": "echo", "connect_ns": {"p50": 1, "hdr": GOLDEN if requests else ""}}


def document(size: int = 64, connections: int = 1, rate: float = 0.0, cost_ns: float = 1000.0,
             speed: float = 40000.0, **more) -> dict:
    """What `peal load --json` would have written; `speed` is that of a closed loop."""
    speed = rate or speed
    messages = int(speed)
    found = {
        "schema": 1, "tool": "peal load", "experiment": "pingpong", "size": size, "threads": 1,
        "connections": {"asked": connections, "open": connections, "failed": 0},
        "mode": "rate" if rate else "closed", "offered_rate": rate, "seconds": 1.0, "messages": messages,
        "reads": messages, "bytes_received": messages * size, "bytes_sent": messages * size,
        "mib_per_s": messages * size / 2**20, "messages_per_s": speed,
        "latency_ns": {"p50": 2047, "p99": 123469823, "count": 11, "clamped": 0, "hdr": GOLDEN},
        "send_lag_ns": {"p99": 1000},
        "client": {"cpu_ns": messages * 900.0, "spin_ns": 0},
        "server": {"cpu_ns": messages * cost_ns, "rss_bytes": 8 << 20, "voluntary_switches": 10,
                   "involuntary_switches": 2},
        "gates": [], "errors": {},
    }
    return found | more


def load(words: list[str]) -> int:
    """`peal load pingpong|http|echo TARGET ...`: writes made-up figures at once."""

    def option(name: str, default: str = "0") -> str:
        return words[words.index(name) + 1] if name in words else default

    pid = option("--server-pid")
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    program = Path(command[2].decode()).name
    noise = random.gauss(1.0, 0.004)
    cost = {"libevent": 2000.0, "libuv": 1500.0}.get(program, 1000.0) * noise
    rate = float(option("--rate", "0/s").removesuffix("/s"))
    if words[1] == "http":
        cost = HTTP_COST_NS.get(program, 5000.0) * noise
        short = option("--requests-per-connection") == "1"
        found = document(0, int(option("--connections")), rate, cost, 1e9 / cost / (4 if short else 1))
        found |= {"experiment": "http", "connect_ns": {"p50": 1, "hdr": GOLDEN if short else ""}}
    elif words[1] == "echo":
        name = command[command.index(b"run") + 1].decode() + ("+io" if b"io" in command else "")
        found = echo_document(name, int(option("--size")), int(option("--connections")), rate, noise,
                              int(option("--requests-per-connection")), "--expect-queueing" in words)
    else:
        found = document(int(option("--size")), int(option("--connections")), rate, cost)
    found["threads"] = int(option("--threads", "1"))
    Path(option("--json")).write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    make_bin(Path(sys.argv[1]))
