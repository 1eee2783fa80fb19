# SPDX-License-Identifier: BSD-3-Clause
"""Reads the JSON of `peal load` into a Measurement. (duel/ reads the JSON of duels.)"""

import json
from dataclasses import dataclass, field
from pathlib import Path

EXIT_DONE, EXIT_GATE = 0, 3


class NoMeasurement(RuntimeError):
    """The generator left no figures. The text is one sentence that says why."""


@dataclass
class Measurement:
    """One run of the generator. Times are in nanoseconds; shares are of one core per generator thread."""

    messages: int = 0
    messages_per_s: float = 0.0
    client_cpu_ns: float = 0.0
    client_share: float = 0.0
    server_share: float = 0.0
    latency_hdr: str = ""
    send_lag_p99_ns: float = 0.0
    errors: dict[str, int] = field(default_factory=dict)


def _number(value, default=0):
    return default if value is None else value


def parse(text: str) -> Measurement:
    """Returns the measurement in the generator's JSON. Raises NoMeasurement."""
    try:
        data = json.loads(text)
        seconds = float(data["seconds"])
        messages = int(data["messages"])
        latency = data.get("latency_ns") or {}
        client = data.get("client") or {}
        server = data.get("server") or {}
        threads_ns = seconds * 1e9 * max(1, int(_number(data.get("threads"), 1)))
        client_cpu = float(_number(client.get("cpu_ns")))
        spin = float(_number(client.get("spin_ns")))
        return Measurement(
            messages=messages,
            messages_per_s=messages / seconds if seconds > 0 else 0.0,
            client_cpu_ns=client_cpu,
            client_share=max(0.0, client_cpu - spin) / threads_ns if seconds > 0 else 0.0,
            server_share=float(_number(server.get("cpu_ns"))) / threads_ns if seconds > 0 else 0.0,
            latency_hdr=latency.get("hdr") or "",
            send_lag_p99_ns=float(_number((data.get("send_lag_ns") or {}).get("p99"))),
            errors={name: int(count) for name, count in (data.get("errors") or {}).items()
                    if isinstance(count, (int, float)) and count},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoMeasurement(f"cannot parse the generator's JSON: {error}") from error


def read(path: Path) -> Measurement:
    """Returns the measurement that the generator wrote to `path`. Raises NoMeasurement."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NoMeasurement(f"the generator wrote no figures: {error.strerror}") from error
