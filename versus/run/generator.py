# SPDX-License-Identifier: BSD-3-Clause
"""The load generator's seam: the only module that knows `peal load`'s command line and its JSON."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from versus import hdr
from versus.run.echo_cell import EchoCell
from versus.experiments import RATE, HttpCell, Load

EXIT_DONE, EXIT_GATE = 0, 3
# What is waited at the end for those whose turn may still come; the others would not be served however long it was.
QUEUEING_GRACE = "50ms"
# The certificate signs itself, and who would check it is the client, whose CPU is not compared.
BELIEVES = "--tls-insecure"
# How the generator names a gate, where the harness has another name for the same thing.
GATE_NAMES = {"generator_cpu": "generator", "client_cpu": "generator", "rate": "achieved", "littles_law": "little"}


class NoMeasurement(RuntimeError):
    """The generator left no figures: one sentence why."""


@dataclass
class Measurement:
    """One generator run in the harness's own words. Times in nanoseconds, shares of one core per thread."""

    messages: int = 0
    seconds: float = 0.0
    messages_per_s: float = 0.0
    mib_per_s: float = 0.0
    reads: int = 0
    offered_rate: float = 0.0
    connections_open: int = 0
    connections_served: int = 0  # of which at least one message came back
    connections_queued: int = 0  # whose turn had not come at the end
    connections_unopened: int = 0  # of them, those that were not even let in
    client_cpu_ns: float = 0.0
    client_share: float = 0.0
    server_cpu_ns: float | None = None
    server_share: float = 0.0
    server_percent: float = 0.0  # 100 is one core
    machine_share: float = 0.0  # of all the cores, both together
    server_rss_bytes: int = 0
    forgets_children: bool = False  # what children used that ended is not in the CPU: the server ignores SIGCHLD
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    latency_mean_ns: float = 0.0
    latency_hdr: str = ""
    connect_hdr: str = ""
    send_lag_p99_ns: float = 0.0
    clamped: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    gates: list[tuple[str, str, str]] = field(default_factory=list)


def command(program: str, target: str, cell: Load, mode: str, duration_s: float, warmup_s: float,
            server_pid: int, json_path: Path, rate: float = 0.0, queueing: bool = False) -> list[str]:
    """The command line of one run; `queueing`: the server serves fewer connections at a time than there are."""
    if isinstance(cell, EchoCell):
        what, more = ["echo", target], cell.generator_words()
    elif isinstance(cell, HttpCell):
        what = ["http", f"{'https' if cell.over_tls else 'http'}://{target}{cell.path}"]
        more = (["--requests-per-connection", "1"] if cell.short else []) + ([BELIEVES] if cell.over_tls else [])
    else:
        what, more = ["pingpong", target], ["--size", str(cell.size)] + (["--tls", BELIEVES] if cell.over_tls else [])
    words = [program, "load", *what, "--connections", str(cell.connections),
             "--threads", str(cell.generator_threads), *more, *cell.load_words,
             "--duration", f"{round(duration_s * 1000)}ms", "--warmup", f"{round(warmup_s * 1000)}ms",
             "--server-pid", str(server_pid), "--json", str(json_path)]
    if queueing:
        words += ["--expect-queueing", "--grace", QUEUEING_GRACE]
    if mode == RATE:
        words += ["--rate", f"{rate:.0f}/s"]
    return words


def _number(value, default=0):
    return default if value is None else value


def parse(text: str, server_threads: int | None = None, apart: bool = True) -> Measurement:
    """The measurement in the generator's JSON. `server_threads`: where they are not as many as the generator's;
    `apart`: whether each thread has a core. Raises NoMeasurement."""
    try:
        data = json.loads(text)
        seconds = float(data["seconds"])
        messages = int(data["messages"])
        latency = data.get("latency_ns") or {}
        client = data.get("client") or {}
        server = data.get("server") or {}
        threads = max(1, int(_number(data.get("threads"), 1)))
        busy_ns = seconds * 1e9
        cores = len(os.sched_getaffinity(0))
        at_most = 10**6 if apart else cores
        client_cpu = float(_number(client.get("cpu_ns")))
        spin = float(_number(client.get("spin_ns")))
        server_cpu = server.get("cpu_ns")
        spent = float(server_cpu or 0.0)
        encoded = latency.get("hdr") or ""
        return Measurement(
            messages=messages,
            seconds=seconds,
            messages_per_s=messages / seconds if seconds > 0 else 0.0,
            mib_per_s=float(_number(data.get("mib_per_s"))),
            reads=int(_number(data.get("reads"))),
            offered_rate=float(_number(data.get("offered_rate"))),
            connections_open=int(data["connections"]["open"]),
            connections_served=int(_number(data["connections"].get("served"))),
            connections_queued=int(_number(data["connections"].get("queued"))),
            connections_unopened=int(_number(data["connections"].get("queued_unopened"))),
            client_cpu_ns=client_cpu,
            client_share=max(0.0, client_cpu - spin) / busy_ns / min(threads, at_most) if busy_ns > 0 else 0.0,
            server_cpu_ns=None if server_cpu is None else float(server_cpu),
            server_share=spent / busy_ns / min(server_threads or threads, at_most) if busy_ns > 0 else 0.0,
            server_percent=100.0 * spent / busy_ns if busy_ns > 0 else 0.0,
            machine_share=(spent + client_cpu) / busy_ns / cores if busy_ns > 0 else 0.0,
            server_rss_bytes=int(_number(server.get("rss_bytes"))),
            forgets_children=bool(server.get("forgets_children")),
            voluntary_switches=int(_number(server.get("voluntary_switches"))),
            involuntary_switches=int(_number(server.get("involuntary_switches"))),
            latency_mean_ns=hdr.decode(encoded).mean if encoded else 0.0,
            latency_hdr=encoded,
            connect_hdr=(data.get("connect_ns") or {}).get("hdr") or "",
            send_lag_p99_ns=float(_number((data.get("send_lag_ns") or {}).get("p99"))),
            clamped=int(_number(latency.get("clamped"))),
            errors={name: int(count) for name, count in (data.get("errors") or {}).items()
                    if isinstance(count, (int, float)) and count},
            gates=[(GATE_NAMES.get(gate["name"], gate["name"]), gate["verdict"], gate["sentence"])
                   for gate in data.get("gates") or []],
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoMeasurement(f"The generator's JSON could not be read: {error}.") from error


def read(path: Path, server_threads: int | None = None, apart: bool = True) -> Measurement:
    """The measurement the generator wrote to `path`. Raises NoMeasurement."""
    try:
        return parse(path.read_text(encoding="utf-8"), server_threads, apart)
    except OSError as error:
        raise NoMeasurement(f"The generator wrote no figures: {error.strerror}.") from error
