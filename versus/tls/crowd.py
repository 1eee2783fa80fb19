# SPDX-License-Identifier: BSD-3-Clause
"""Clients that begin to shake hands at once: waves of a thousand connections whose ClientHellos leave together, each
wave when the one before was answered. They say nothing more, and stay; so nearly all of the work is the server's. Says
"ready" when the first wave was answered, and how many were in all when its stdin ends.

python3 -m versus.tls.crowd HOST:PORT CERTIFICATE [--clients 1000]
"""

import argparse
import os
import select
import socket
import ssl
import sys
import time

from versus.run import process

MOST_OPEN = 8000  # then the eldest leave
LEAST_PAUSE_S = 0.05  # between waves: many leave a server, too


def hello(certificate: str) -> bytes:
    """What a client says first. The same for all: a server cannot know that they are one."""
    context = ssl.create_default_context(cafile=certificate)
    theirs, ours = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(theirs, ours, server_hostname="localhost")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return ours.read()


def wave(address: tuple[str, int], says: bytes, clients: int) -> list[socket.socket]:
    """So many connections that have all begun."""
    sockets = [socket.create_connection(address) for _ in range(clients)]
    for each in sockets:
        each.send(says)
    return sockets


def answered(sockets: list[socket.socket]) -> tuple[int, bool]:
    """How many of them were answered, and whether all were before stdin ended."""
    poll = select.epoll()
    poll.register(sys.stdin, select.EPOLLIN)
    for each in sockets:
        poll.register(each, select.EPOLLIN | select.EPOLLONESHOT)
    count = 0
    with poll:
        while count < len(sockets):
            ready = poll.poll()
            if any(fd == sys.stdin.fileno() for fd, _ in ready):
                return count, False
            count += len(ready)
    return count, True


def main() -> int:
    parser = argparse.ArgumentParser(description="Shakes hands with a server over and over until its stdin ends.")
    parser.add_argument("target", help="HOST:PORT")
    parser.add_argument("certificate", help="a file: whom to believe")
    parser.add_argument("--clients", type=int, default=1000, help="at once (1000)")
    options = parser.parse_args()
    host, _, port = options.target.rpartition(":")
    process.raise_fd_limit()
    os.nice(10)  # real clients would be on machines of their own
    says = hello(options.certificate)
    kept: list[socket.socket] = []
    total, goes_on = 0, True
    while goes_on:
        kept += wave((host, int(port)), says, options.clients)
        count, goes_on = answered(kept[-options.clients:])
        if total == 0:
            print("ready", flush=True)
        total += count
        for each in kept[:max(len(kept) - MOST_OPEN, 0)]:
            each.close()
        kept = kept[-MOST_OPEN:]
        time.sleep(LEAST_PAUSE_S)
    print(total, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
