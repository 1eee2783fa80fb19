# SPDX-License-Identifier: BSD-3-Clause
"""Loads over TLS: the same as without TLS, and the additional options of the generator."""

from dataclasses import dataclass

from versus.experiments import CLOSED, Cell, HttpCell
from versus.tls.certificate import FILE

KEPT, FULL, RESUMED = "kept", "full", "resumed"
HANDSHAKE_WORDS = {KEPT: (), FULL: ("--handshakes",), RESUMED: ("--handshakes", "--tls-resume")}
HANDSHAKE_TITLES = {KEPT: "keep-alive", FULL: "a full handshake per request",
                    RESUMED: "a resumed handshake per request"}
# A message takes longer than without TLS, and a handshake or a mebibyte takes a millisecond. So slices are longer.
MANY, LONG_SLICE_S = 1000, 0.1


@dataclass(frozen=True)
class TlsCell(Cell):
    """Ping-pong over TLS. `pipeline` is the number of messages in flight per connection."""

    pipeline: int = 1

    over_tls = True

    @property
    def least_slice_s(self) -> float:
        return LONG_SLICE_S if self.connections >= MANY else 0.0

    @property
    def name(self) -> str:
        return super().name + (f"p{self.pipeline}" if self.pipeline > 1 else "")

    @property
    def title(self) -> str:
        return super().title + (f", {self.pipeline} messages at a time" if self.pipeline > 1 else "")

    @property
    def counts_calls(self) -> bool:
        return self.pipeline == 1

    @property
    def load_words(self) -> tuple[str, ...]:
        return ("--pipeline", str(self.pipeline)) if self.pipeline > 1 else ()


@dataclass(frozen=True)
class HttpsCell(HttpCell):
    """HTTPS: a page, or with `downloads` a file of one mebibyte. `handshakes` says whether connections are kept."""

    handshakes: str = KEPT
    pipeline: int = 1
    downloads: bool = False

    over_tls = True

    @property
    def least_slice_s(self) -> float:
        return LONG_SLICE_S if self.downloads or self.handshakes != KEPT else 0.0

    @property
    def name(self) -> str:
        what = "download" if self.downloads else "keep" if self.handshakes == KEPT else self.handshakes
        threads = f"x{self.threads}t" if self.threads > 1 else ""
        return f"{what}{self.connections}{threads}" + (f"p{self.pipeline}" if self.pipeline > 1 else "")

    @property
    def title(self) -> str:
        clients = "1 client" if self.connections == 1 else f"{self.connections:,} clients"
        what = "a download of 1 MiB" if self.downloads else HANDSHAKE_TITLES[self.handshakes]
        return f"{clients}, {what}" + (f", {self.pipeline} requests at a time" if self.pipeline > 1 else "")

    @property
    def counts_calls(self) -> bool:
        return self.handshakes == KEPT and self.pipeline == 1 and not self.downloads

    @property
    def path(self) -> str:
        return f"/{FILE}" if self.downloads else super().path

    @property
    def server_words(self) -> tuple[str, ...]:
        return ("--root", "{root}") if self.downloads else ()

    @property
    def load_words(self) -> tuple[str, ...]:
        piped = ("--pipeline", str(self.pipeline)) if self.pipeline > 1 else ()
        return (*HANDSHAKE_WORDS[self.handshakes], *piped)


def closed(cell_type, *words, **more):
    """Returns a cell that is measured only in a closed loop."""
    return cell_type(*words, modes=(CLOSED,), **more)
