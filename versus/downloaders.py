# SPDX-License-Identifier: BSD-3-Clause
"""Clients of an HTTP server that download a large file over and over, from one process, and throw away what comes
without looking at it (MSG_TRUNC, tcp(7)). Says "ready" when everybody has had some, and how many bytes came since
when its stdin ends.

They have a processor only where nobody else wants it (SCHED_IDLE, sched(7)), and leave the kernel after every 64 KiB:
real clients would be on machines of their own. Taking a mebibyte at a time they kept a load generator beside them from
its processor for 0.3 ms at its p99, which passed for the server's.

python3 -m versus.downloaders HOST:PORT PATH BYTES [--clients 16]
"""

import argparse
import os
import select
import socket
import sys

PIECE_BYTES = 1 << 16
AHEAD = 2  # answers asked for and not here yet: the server is never out of work
LIMIT_S = 30.0  # for everybody to have had some
_nowhere = bytearray(PIECE_BYTES)


class Download:
    """One connection. `received` counts heads, too."""

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
        """Discards what is there, at most so much. Raises ConnectionError where the server has ended."""
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
    """Until stdin ends."""
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
    parser.add_argument("path", help="of the file")
    parser.add_argument("bytes", type=int, help="its size")
    parser.add_argument("--clients", type=int, default=16, help="downloads at a time (16)")
    options = parser.parse_args()
    host, _, port = options.target.rpartition(":")
    downloads = [Download((host, int(port)), options.path, options.bytes) for _ in range(options.clients)]
    for each in downloads:
        if not select.select([each.socket], [], [], LIMIT_S)[0]:
            raise ConnectionError("a download does not begin")
        each.take()
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    print("ready", flush=True)
    before = sum(each.received for each in downloads)
    as_fast_as_they_can(downloads)
    print(sum(each.received for each in downloads) - before, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
