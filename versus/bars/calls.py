# SPDX-License-Identifier: BSD-3-Clause
"""Measures what a remote call costs the server, in the format of muduo's RPC with a payload of 6 bytes.

The handler is a function, a coroutine, or the floor: code without protobuf. callgrind counts user instructions; the
figure is the slope between 1000 and 3000 calls on one connection, with 1 and with 100 calls under way. memcheck counts
the server's calls of malloc in the same way.
"""

import re
import socket
import tempfile
import zlib
from functools import partial
from pathlib import Path

from versus import lockstep
from versus.bars import common, instructions
from versus.bars.common import CannotMeasure, Context, Row
from versus.roster import Contender
from versus.run import process

PROGRAM = "calls_peal"
STYLES = {"function": "a function", "coroutine": "a coroutine", "floor": "written by hand, without protobuf"}
# Calls under way -> the most instructions that a call may cost (0: no bar).
BARS = {"function": {1: 3000, 100: 2700}, "coroutine": {1: 3600, 100: 3300},
        "floor": {1: 0, 100: 0}}
# The most allocations per call.
ALLOCATIONS = {"function": 0, "coroutine": 2}
FEW, MANY = 1000, 3000
PAYLOAD = b"abcdef"


def _field(key: int, content: bytes) -> bytes:
    return bytes([key, len(content)]) + content


def _frame(message: bytes) -> bytes:
    counted = b"RPC0" + message
    body = counted + zlib.adler32(counted).to_bytes(4, "big")
    return len(body).to_bytes(4, "big") + body


def _head(kind: int, call: int) -> bytes:
    return bytes([0x08, kind, 0x11]) + call.to_bytes(8, "little")


def request(call: int) -> bytes:
    """Returns the frame that calls EchoService.Echo."""
    names = _field(0x1A, b"echo.EchoService") + _field(0x22, b"Echo")
    return _frame(_head(1, call) + names + _field(0x2A, _field(0x0A, PAYLOAD)))


def response(call: int) -> bytes:
    return _frame(_head(2, call) + _field(0x32, _field(0x12, PAYLOAD)))


def calls(window: int, connections: list[socket.socket], count: int) -> None:
    """Makes `count` calls on each connection, `window` at a time, and checks every answer."""
    asked = b"".join(request(call) for call in range(window))
    owed = b"".join(response(call) for call in range(window))
    for _ in range(count // window):
        for connection in connections:
            connection.sendall(asked)
            if lockstep.receive(connection, len(owed)) != owed:
                raise lockstep.EchoDiffers("an answer differs from the expected one")


def contender(path: Path | str, style: str) -> Contender:
    return Contender(f"calls-{style}", (str(path), style, "{listen}"), f"remote calls, {STYLES[style]}")


def parse_allocations(text: str) -> int:
    """Returns the number of allocations from the text that memcheck wrote."""
    found = re.search(r"total heap usage: ([\d,]+) allocs", text)
    if not found:
        raise CannotMeasure("memcheck's output has no line 'total heap usage'")
    return int(found.group(1).replace(",", ""))


def _allocated(served: Contender, count: int) -> int:
    """Returns the allocations of a server that answers exactly `count` calls."""
    with tempfile.TemporaryDirectory(prefix="versus-memcheck-") as folder:
        log = Path(folder) / "log"
        tool = ["valgrind", "--tool=memcheck", "--leak-check=no", f"--log-file={log}"]
        with process.serving(lambda host, port: [*tool, *served.words(host, port, 1)], (), served.given) as server:
            with lockstep.connected(server.host, server.port, 1) as connections:
                calls(1, connections, count)
        return parse_allocations(log.read_text(encoding="utf-8"))


def allocations(served: Contender) -> float:
    return (_allocated(served, MANY) - _allocated(served, FEW)) / (MANY - FEW)


def _allocations_row(served: Contender, words: str, most: int) -> Row:
    def measured() -> tuple[float, str, dict]:
        value = allocations(served)
        return round(value, 2), f"{value:.2f}", {"allocations": value}

    return common.counted(f"allocations per call, the handler is {words}", f"<= {most}", most, measured)


def measure(context: Context) -> list[Row]:
    instructions.need_valgrind()
    path = context.tool(f"contenders/{PROGRAM}")
    rows = []
    for style, words in STYLES.items():
        for window, bar in BARS[style].items():
            context.say(f"calls: {words}, {window} under way")
            figure = f"user instructions per call, the handler is {words}, {window} under way"
            count = partial(instructions.per_message, contender(path, style), partial(calls, window))
            rows.append(instructions.row(figure, f"<= {bar}" if bar else common.NO_BAR, bar, count))
        if style in ALLOCATIONS:
            rows.append(_allocations_row(contender(path, style), words, ALLOCATIONS[style]))
    return rows
