# SPDX-License-Identifier: BSD-3-Clause
"""Fakes for the harness's own tests: a server, and a generator whose figures are made up but have the real format.
duel/duel_fakes.py has those of duels.
"""

import json
import sys
from pathlib import Path

# Made with the public hdrhistogram package. hdr_test.py has the figures that must be read from it.
GOLDEN = "HISTFAAAADR4nJNpmSzMwMAgwgABzFCaEch0M9ixgMH+A1SAiYnpOD/LagEmpo0eLN1uTB/zmADQyQkw"
PYTHON = "/usr/bin/python3"
HTTP_NAMES = ("http_raw_epoll", "http_nginx", "http_libevent", "http_beast", "http_beast_locked")
# The models that a fake program lists, and their server CPU per request.
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
    """Makes a folder of programs like that of `make build`."""
    (folder / "contenders").mkdir(parents=True)
    for path in [folder / "peal", *(folder / "contenders" / name for name in names)]:
        write_program(path, SERVER)
    return folder


def listed_models() -> list[dict]:
    """Returns the output of a fake `peal model list --json`."""
    return [{"name": name, "historic": name.title().replace("_", ""), "family": name.partition("_")[0],
             "line": f"what {name} is", "serves": "one" if name == "blocking_single" else "many", "processes": False,
             "own_listeners": False, "times_out": name != "blocking_single", "options": MODEL_OPTIONS.get(name, [])}
            for name in MODEL_COST_NS]


def document(messages: int = 40000, **more) -> dict:
    """Returns the output of a fake `peal load --json`: `messages` messages in a second, each with 900 ns of client
    CPU."""
    return {"schema": 1, "tool": "peal load", "seconds": 1.0, "messages": messages, "threads": 1, "errors": {},
            "latency_ns": {"hdr": GOLDEN}, "send_lag_ns": {"p99": 1000},
            "client": {"cpu_ns": messages * 900.0, "spin_ns": 0}, "server": {"cpu_ns": 8e8}} | more


def load(words: list[str]) -> int:
    """Acts as `peal load pingpong|http TARGET ...`: writes made-up figures at once."""
    found = document(250_000 if words[1] == "http" else 40_000)
    Path(words[words.index("--json") + 1]).write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    make_bin(Path(sys.argv[1]))
