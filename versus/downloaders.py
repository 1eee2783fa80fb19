# SPDX-License-Identifier: BSD-3-Clause
"""Clients that download a large file from an HTTP server again and again, all in one process. They discard the bytes
without looking at them (MSG_TRUNC, tcp(7)). Prints "ready" when each has received bytes; when its stdin ends, prints
how many bytes have arrived since then.

They run only when no other program wants the processor (SCHED_IDLE, sched(7)), and return from the kernel after every
64 KiB, because real clients would have their own machines. When they took a mebibyte at a time, they delayed the load
generator beside them by 0.3 ms at its p99, and this looked like a delay of the server.

python3 -m versus.downloaders HOST:PORT PATH BYTES [--clients 16]
"""

import argparse
import os
import select
import socket
import sys

PIECE_BYTES = 1 << 16
AHEAD = 2  # requests without an answer so far, so that the server always has work
LIMIT_S = 30.0  # the most time until each client has received bytes
_nowhere = bytearray(PIECE_BYTES)


class Download:
    """One connection. `received` counts heads and bodies."""

    def __init__(self, address: tuple[str, int], path: str, file_bytes: int):
        self.received = 0
        self._file_bytes = file_bytes
        self._asked = 0
        self._request = f"GET {path} HTTP/1.1\r\nHost: downloads\r\n\r\n".encode()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.connect(address)
        self._ask()

    def _ask(self) -> None:
        while self._asked < self.received // self._file_bytes + AHEAD:
            self.socket.sendall(self._request)
            self._asked += 1

    def take(self, most: int = PIECE_BYTES) -> int:
        """Discards at most `most` bytes that have arrived. Raises ConnectionError if the server has closed the
        connection."""
        try:
            taken = self.socket.recv_into(_nowhere, min(most, PIECE_BYTES), socket.MSG_TRUNC | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        if taken == 0:
            raise ConnectionError("the server ended a download")
        self.received += taken
        self._ask()
        return taken


def as_fast_as_they_can(downloads: list[Download]) -> None:
    """Downloads until stdin ends."""
    poll = select.epoll()
    by_fd = {each.socket.fileno(): each for each in downloads}
    for fd in by_fd:
        poll.register(fd, select.EPOLLIN)
    poll.register(sys.stdin, select.EPOLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd not in by_fd:
                return
            by_fd[fd].take()


def main() -> int:
    parser = argparse.ArgumentParser(description="Downloads from an HTTP server until its stdin ends.")
    parser.add_argument("target", help="HOST:PORT")
    parser.add_argument("path", help="the path of the file")
    parser.add_argument("bytes", type=int, help="the size of the file")
    parser.add_argument("--clients", type=int, default=16, help="downloads at a time (16)")
    options = parser.parse_args()
    host, _, port = options.target.rpartition(":")
    downloads = [Download((host, int(port)), options.path, options.bytes) for _ in range(options.clients)]
    for each in downloads:
        if not select.select([each.socket], [], [], LIMIT_S)[0]:
            raise ConnectionError("a download has not begun")
        each.take()
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    print("ready", flush=True)
    before = sum(each.received for each in downloads)
    as_fast_as_they_can(downloads)
    print(sum(each.received for each in downloads) - before, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
