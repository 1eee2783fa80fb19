# SPDX-License-Identifier: BSD-3-Clause
"""Measures user instructions per echo of a framed message of 64 bytes: messages() and Stream::read(framing) beside the
same framing written by hand. callgrind counts; the figure is the slope between 1000 and 3000 messages on one
connection."""

import socket
from functools import partial
from pathlib import Path

from versus import lockstep
from versus.bars import common, instructions
from versus.bars.common import Context, Row
from versus.roster import Contender

PROGRAM = "frames_peal"
BAR = 1.02
SIZE = 64
STYLES = {"hand": "by hand", "messages": "messages()", "coroutine": "Stream::read(framing)"}
FRAME = SIZE.to_bytes(4, "big") + lockstep.block_of(SIZE)


def echoes(connections: list[socket.socket], messages: int) -> None:
    """Sends one frame at a time on each connection and checks every answer."""
    for _ in range(messages):
        for connection in connections:
            connection.sendall(FRAME)
            if lockstep.receive(connection, len(FRAME)) != FRAME:
                raise lockstep.EchoDiffers("the frame echoed differs from the frame sent")


def contender(path: Path | str, style: str) -> Contender:
    return Contender(f"frames-{style}", (str(path), style, "{listen}"), f"a framed echo, {STYLES[style]}")


def measure(context: Context) -> list[Row]:
    instructions.need_valgrind()
    path = context.tool(f"contenders/{PROGRAM}")
    rows, counts = [], {}
    for style, words in STYLES.items():
        context.say(f"framing: {words}")
        rows.append(instructions.row(f"user instructions per framed message of {SIZE} bytes, {words}", common.NO_BAR, 0,
                                     partial(instructions.per_message, contender(path, style), echoes)))
        counts[style] = rows[-1].data.get("instructions")
    if counts["hand"] and counts["messages"]:
        ratio = counts["messages"] / counts["hand"]
        rows.append(common.counted(f"user instructions per framed message of {SIZE} bytes, messages() / by hand",
                                   f"<= {BAR}", BAR,
                                   lambda: (ratio, f"{ratio:.3f}", counts)))
    return rows
