# SPDX-License-Identifier: BSD-3-Clause
"""A crowd of clients that begin TLS handshakes together, in waves of a thousand connections whose ClientHellos are sent
at once. A wave is sent when the previous one is answered. Its connections are opened meanwhile, so there is hardly a
pause. The clients send nothing more and stay connected, so nearly all of the work is the server's. Prints "ready" when
the first wave is answered; when its stdin ends, prints how many clients were answered in all.

python3 -m versus.tls.crowd HOST:PORT CERTIFICATE [--clients 1000]
"""

import argparse
import os
import select
import socket
import ssl
import sys
from collections import deque
from collections.abc import Iterator

from versus.run import process

MOST_WAVES = 8  # waves that stay connected; then the oldest connections are closed


def hello(certificate: str) -> bytes:
    """Returns a client's first message. All clients send the same bytes, which a server cannot know."""
    context = ssl.create_default_context(cafile=certificate)
    theirs, ours = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(theirs, ours, server_hostname="localhost")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return ours.read()


class Crowd:
    def __init__(self, address: tuple[str, int]):
        self.address = address
        self.open: deque[socket.socket] = deque()

    def connected(self, clients: int) -> Iterator[socket.socket]:
        """Opens `clients` connections, one at a time. Between two of them it yields the CPU, because real clients would
        have their own machines."""
        for _ in range(clients):
            if len(self.open) == MOST_WAVES * clients:
                self.open.popleft().close()
            self.open.append(socket.create_connection(self.address))
            yield self.open[-1]
            os.sched_yield()


def answered(wave: list[socket.socket], coming: Iterator[socket.socket]) -> tuple[int, list[socket.socket]]:
    """Returns how many clients of a wave were answered, and the connections that were opened meanwhile. If stdin ends
    first, the number is less than the whole wave."""
    came: list[socket.socket] = []
    poll = select.epoll()
    poll.register(sys.stdin, select.EPOLLIN)
    for each in wave:
        poll.register(each, select.EPOLLIN | select.EPOLLONESHOT)
    count = 0
    with poll:
        while count < len(wave):
            new = next(coming, None)
            came += [new] if new else []
            ready = poll.poll(0 if new else None)
            if any(fd == sys.stdin.fileno() for fd, _ in ready):
                break
            count += len(ready)
    return count, came


def main() -> int:
    parser = argparse.ArgumentParser(description="Begins TLS handshakes with a server until its stdin ends.")
    parser.add_argument("target", help="HOST:PORT")
    parser.add_argument("certificate", help="a file with the certificate to trust")
    parser.add_argument("--clients", type=int, default=1000, help="clients in each wave (1000)")
    options = parser.parse_args()
    host, _, port = options.target.rpartition(":")
    process.raise_fd_limit()
    os.nice(10)
    says = hello(options.certificate)
    crowd = Crowd((host, int(port)))
    wave = list(crowd.connected(options.clients))
    total, goes_on = 0, True
    while goes_on:
        for each in wave:
            each.send(says)
        coming = crowd.connected(options.clients)
        count, came = answered(wave, coming)
        goes_on = count == len(wave)
        total += count
        if total == count:
            print("ready", flush=True)
        wave = came + list(coming) if goes_on else []
    print(total, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
