# SPDX-License-Identifier: BSD-3-Clause
"""Measures user instructions over TLS 1.3 (AES-128-GCM, X25519, ECDSA P-256) with callgrind. There are four figures: an
echo, a GET with four fields on a keep-alive connection, a full handshake and a resumed one. Each is the slope between
two counts."""

from dataclasses import dataclass
from functools import partial

from versus.bars import common, instructions, tls_common
from versus.bars.common import CannotMeasure, Context, Row
from versus.roster import HTTPS, TLS, Contender
from versus.tls.tls_plans import FLOOR, HTTPS_FLOOR, HTTPS_OURS, NGINX, OURS

MESSAGES, HANDSHAKES = "bare_tls_client", "bare_handshakes"


@dataclass(frozen=True)
class Counted:
    """One figure: the client that drives the server, the two counts, and peal's bar."""

    what: str
    kind: str
    names: tuple[str, ...]  # peal's contender is the first
    program: str
    key: str
    counts: tuple[int, int]
    bar: int
    options: tuple[tuple[str, int], ...] = ()
    published: str = ""

    def run(self, count: int) -> dict[str, int]:
        return dict(self.options) | {self.key: count}


FIGURES = (
    Counted("64-byte echo", TLS, (OURS, FLOOR), MESSAGES, "messages", (500, 1500), 14_900, (("size", 64),),
            "bare loop 14,100, libevent 18,400, asio 22,500"),
    Counted("16 KiB echo", TLS, (OURS, FLOOR), MESSAGES, "messages", (250, 750), 104_000, (("size", 16384),),
            "bare loop 100,000, libevent 114,800, asio 114,500"),
    Counted("keep-alive GET with four fields", HTTPS, (HTTPS_OURS, HTTPS_FLOOR, NGINX), MESSAGES, "messages",
            (500, 1500), 16_500, (("http", 1),), "bare loop 14,600 to 15,000, nginx 27,300"),
    Counted("full handshake, one ticket", HTTPS, (HTTPS_OURS, HTTPS_FLOOR, NGINX), HANDSHAKES, "handshakes", (10, 40),
            2_680_000, (("resume", 0),), "bare loop 2.61 M, nginx 2.85 M"),
    Counted("resumed handshake, one ticket", HTTPS, (HTTPS_OURS, HTTPS_FLOOR, NGINX), HANDSHAKES, "handshakes",
            (10, 40), 2_500_000, (("resume", 1),), "bare loop 2.45 M, nginx 2.50 M"),
)


def _row(context: Context, figure: Counted, contender: Contender) -> Row:
    def count() -> float:
        if "uring" in contender.name:
            raise CannotMeasure("callgrind does not support io_uring")
        return tls_common.slope(context, contender, figure.program, *map(figure.run, figure.counts))

    context.say(f"instructions over TLS: {figure.what}, {contender.name}")
    return instructions.row(f"user instructions per {figure.what} over TLS, {contender.name}",
                            f"<= {figure.bar:,}" if contender.name == figure.names[0] else common.NO_BAR, figure.bar,
                            count, published=figure.published)


def _figure(context: Context, figure: Counted) -> list[Row]:
    return [_row(context, figure, each) for each in tls_common.contenders(context, figure.kind, figure.names)]


def measure(context: Context) -> list[Row]:
    return common.in_parts({f"user instructions per {figure.what} over TLS": partial(_figure, context, figure)
                            for figure in FIGURES})
