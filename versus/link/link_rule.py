# SPDX-License-Identifier: BSD-3-Clause
"""When a link is full: the rule, and what the interface of the route says of itself.

A message crosses the link twice, once each way, and a link carries both ways at once: each direction has `size` bytes a
message, cut into segments. A segment is at most the interface's MTU long and begins with 20 bytes of IPv4 (40 of IPv6),
20 of TCP and 12 of TCP's timestamps: of an MTU of 1500 it has 1448 bytes of payload, and 16 KiB are 12 segments, which
is 16384 + 12 * 52 bytes. So

    share = messages/s * (size + segments * headers) * 8 / (speed in bit/s)

and a link is full from 90 % on. What is not counted (the frame about each segment, 38 bytes on Ethernet with its gap,
and acknowledgements that carry nothing) only makes the link fuller than it is said to be: a full Ethernet shows 97.5 %.
"""

import fcntl
import math
import socket
import struct
from dataclasses import asdict, dataclass
from pathlib import Path

FULL = 0.9
HEADERS = {4: 20 + 20 + 12, 6: 40 + 20 + 12}
USUAL_MTU = 1500
SIOCGIFADDR = 0x8915
FOLDER = Path("/sys/class/net")


@dataclass(frozen=True)
class Link:
    """The way to the other machine, as seen from here."""

    interface: str  # "": not known
    mtu: int
    mbit: float | None  # None: nobody says
    said_by: str  # who says how fast it is
    version: int = 4  # of IP

    def as_dict(self) -> dict:
        return asdict(self)

    def share(self, messages_per_s: float, size: int) -> float | None:
        """Of its speed, in either direction."""
        if self.mbit is None:
            return None
        return messages_per_s * wire_bytes(size, self.mtu, self.version) * 8 / (self.mbit * 1e6)


def wire_bytes(size: int, mtu: int, version: int = 4) -> int:
    """What a message of `size` bytes is on the way, the headers of its segments among it."""
    headers = HEADERS[version]
    return size + math.ceil(size / (mtu - headers)) * headers


def is_full(share: float | None) -> bool:
    return share is not None and share >= FULL


def link_to(address: str, mbit: float | None = None, folder: Path = FOLDER) -> Link:
    """The link to an IP address: its speed is `mbit`, or what its interface says."""
    version = 6 if ":" in address else 4
    interface = interface_to(address)
    mtu = _number(folder / interface / "mtu") or USUAL_MTU
    if mbit is not None:
        return Link(interface, mtu, mbit, "--link-mbit", version)
    said = _number(folder / interface / "speed") if interface else None
    return Link(interface, mtu, float(said) if said else None, f"the interface {interface}" if said else "", version)


def interface_to(address: str) -> str:
    """The interface that packets to an IP address leave by; "" where that cannot be told."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))  # sends nothing
            mine = probe.getsockname()[0]
            return _owner_of_v6(mine) if family == socket.AF_INET6 else _owner_of_v4(probe, mine)
    except OSError:
        return ""


def _owner_of_v4(probe: socket.socket, mine: str) -> str:
    for _, name in socket.if_nameindex():
        try:
            found = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        except OSError:
            continue  # it has no address
        if socket.inet_ntoa(found[20:24]) == mine:
            return name
    return ""


def _owner_of_v6(mine: str) -> str:
    wanted = socket.inet_pton(socket.AF_INET6, mine.partition("%")[0]).hex()
    rows = [line.split() for line in Path("/proc/net/if_inet6").read_text(encoding="ascii").splitlines()]
    return next((row[5] for row in rows if row[0] == wanted), "")


def _number(path: Path) -> int | None:
    """A number above 0 in a file; None: there is none."""
    try:
        value = int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return value if value > 0 else None
