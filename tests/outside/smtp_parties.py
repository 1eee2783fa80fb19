# SPDX-License-Identifier: BSD-3-Clause
"""Shared parts of the tests of smtp_receiver and smtp_sender: the receiver, and SMTP by hand."""
import contextlib
import re
import smtplib
import ssl

from programs import PATIENCE_SECONDS, Program
from tls_parties import ByHand, self_signed

SENDER, READER = "sender@example.org", "reader@example.org"
DOTS = "Subject: dots\r\n\r\n.\r\n..\r\n.one\r\n...three\r\nends with one.\r\n"


def hear_line(peer):
    """Reads one line, and no byte after it."""
    line = b""
    while not line.endswith(b"\r\n"):
        byte = peer.recv(1)
        assert byte, f"the end after {line!r}"
        line += byte
    return line.decode().removesuffix("\r\n")


def hear(peer):
    """Returns the last line of an answer."""
    while (line := hear_line(peer))[3:4] == "-":
        pass
    return line


class Receiver:
    """The program `smtp_receiver`, with a certificate of its own."""

    def __init__(self, folder, **options):
        self.certificate, key = self_signed(folder, **options)
        self.program = Program("smtp_receiver", self.certificate, key, "127.0.0.1:0")
        self.address = self.program.address()
        self.port = self.address[1]

    def context(self):
        return ssl.create_default_context(cafile=self.certificate)

    def takes(self, text, readers=(READER,), sender=SENDER):
        """Checks that the next mail it prints is this one. Returns the version of TLS and the cipher."""
        head = re.fullmatch(r"from (\S+) to (.+), (\d+) bytes over (\S+) (\S+)", self.program.line())
        printed = ""
        while len(printed.encode()) < int(head[3]):
            printed += self.program.line() + "\n"
        assert (head[1], head[2], printed) == (f"<{sender}>", ", ".join(f"<{name}>" for name in readers), text)
        return head[4], head[5]

    @contextlib.contextmanager
    def client(self, starts=True):
        """Yields a client of smtplib, over TLS unless `starts` is false."""
        with smtplib.SMTP("127.0.0.1", self.port, timeout=PATIENCE_SECONDS) as mail:
            if starts:
                assert mail.starttls(context=self.context())[0] == 220
            yield mail

    @contextlib.contextmanager
    def by_hand(self, **options):
        with ByHand(self.address, self.context(), **options) as peer:
            assert hear_line(peer.socket).startswith("220 ")
            yield peer


@contextlib.contextmanager
def running(folder, **options):
    receiver = Receiver(folder, **options)
    with receiver.program:
        yield receiver
        assert not receiver.program.has_output(), "the receiver has printed a mail that the test did not send"
        code, out, errors = receiver.program.end()
        assert (code, out) == (0, ""), errors
