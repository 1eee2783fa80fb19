# SPDX-License-Identifier: BSD-3-Clause
"""Shared parts of the tests of TLS with other people's programs.

They are certificates, the https site, and a peer that does TLS by hand. Certificates come from `peal tls self-signed`,
or from an authority of openssl that lives as long as its folder.
"""
import base64
import contextlib
import hashlib
import os
import random
import re
import select
import socket
import ssl
import subprocess
import time

from peal_program import PEAL
from programs import PATIENCE_SECONDS, Program, connect, joined, run_tool, tool

PAGE = b"<!doctype html><title>a page</title><h1>Hello over TLS</h1>\n"
LARGE = random.Random(17).randbytes(8_000_000)
GET = b"GET /page.html HTTP/1.1\r\nHost: localhost\r\n\r\n"
GET_AND_CLOSE = GET[:-2] + b"Connection: close\r\n\r\n"


def self_signed(folder, name="site", kind="ecdsa", hosts=("localhost", "127.0.0.1")):
    """Makes a certificate and its key, and overwrites older ones."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    names = [word for host in hosts for word in ("--name", host)]
    subprocess.run([PEAL, "tls", "self-signed", *names, "--key", kind, "--out-cert", certificate, "--out-key", key,
                    "--force"], check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_SECONDS)
    return certificate, key


def expired(folder, authority):
    """Makes a certificate of the authority for localhost that was valid in 2020. Returns it and its key."""
    key, request, certificate = folder / "old.key", folder / "old.csr", folder / "old.pem"
    (folder / "index").write_bytes(b"")
    config = folder / "ca.cnf"
    config.write_text(f"""[ca]\ndefault_ca = own\n[own]\ndatabase = {folder}/index\nnew_certs_dir = {folder}
                      rand_serial = yes\ndefault_md = sha256\npolicy = any\ncopy_extensions = copy
                      [any]\ncommonName = supplied\n""", encoding="utf-8")
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": PATIENCE_SECONDS}
    subprocess.run([tool("openssl"), "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    key, "-out", request, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], **quiet)
    subprocess.run([tool("openssl"), "ca", "-batch", "-notext", "-config", config, "-in", request, "-out", certificate,
                    "-cert", authority.certificate, "-keyfile", authority.key, "-startdate", "20200101000000Z",
                    "-enddate", "20210101000000Z"], **quiet)
    return certificate, key


class Authority:
    """Signs certificates. `certificate` is the file that a client must trust."""

    def __init__(self, folder, name="authority"):
        self._folder = folder
        self.certificate, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        self._make(self.certificate, self.key, f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def _make(self, certificate, key, subject, *words):
        subprocess.run([tool("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-days", "30", "-keyout", key, "-out", certificate, "-subj", subject, *words],
                       check=True, stderr=subprocess.DEVNULL, timeout=PATIENCE_SECONDS)

    def signs(self, subject, names="DNS:localhost,IP:127.0.0.1"):
        """Makes a certificate for `subject`. Returns it and its key."""
        certificate, key = self._folder / f"{subject}.pem", self._folder / f"{subject}.key"
        self._make(certificate, key, f"/CN={subject}", "-CA", self.certificate, "-CAkey", self.key, "-addext",
                   f"subjectAltName={names}", "-addext", "basicConstraints=critical,CA:FALSE")
        return certificate, key


def key_digest(certificate):
    """Returns the SHA-256 of the certificate's public key (SubjectPublicKeyInfo), in base64."""
    pem = run_tool("openssl", "x509", "-in", certificate, "-noout", "-pubkey")
    der = run_tool("openssl", "pkey", "-pubin", "-outform", "DER", send=pem)
    return base64.b64encode(hashlib.sha256(der).digest()).decode()


def believed(certificate):
    """Returns the option that makes Chromium accept this certificate."""
    return f"--ignore-certificate-errors-spki-list={key_digest(certificate)}"


def server_context(pair):
    """Returns a context for a server in Python, with a certificate and its key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    return context


def hello_of(context):
    """Returns the first message of a client."""
    out = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost").do_handshake()
    return out.read()


def read_until(pipe, *words):
    """Reads from a pipe until all `words` have come, in this order. Returns what was read."""
    text, give_up = b"", time.monotonic() + PATIENCE_SECONDS
    wanted = re.compile(b".*".join(map(re.escape, words)), re.DOTALL)
    while not wanted.search(text):
        ready, _, _ = select.select([pipe], [], [], max(give_up - time.monotonic(), 0))
        chunk = os.read(pipe.fileno(), 65536) if ready else b""
        assert chunk, f"no {words} in {text}"
        text += chunk
    return text


class HttpsSite:
    """The program `https_site`, which serves a folder with PAGE and LARGE.

    `certificate` and `key` are files that a test may overwrite.
    """

    def __init__(self, folder, kind="ecdsa"):
        self.folder = folder
        root = folder / "root"
        root.mkdir()
        (root / "page.html").write_bytes(PAGE)
        (root / "large.bin").write_bytes(LARGE)
        self.certificate, self.key = self_signed(folder, kind=kind)
        self.program = Program("https_site", root, self.certificate, self.key, "127.0.0.1:0")
        self.address = self.program.address()
        self.port = self.address[1]
        self.place = joined(self.address)
        self.url = f"https://localhost:{self.port}/"

    def open_files(self):
        return len(os.listdir(f"/proc/{self.program.process.pid}/fd"))

    def context(self, **options):
        """Returns a context for a client in Python that trusts only the site's certificate."""
        context = ssl.create_default_context(cafile=self.certificate)
        for name, value in options.items():
            setattr(context, name, value)
        return context


@contextlib.contextmanager
def https_site(folder, kind="ecdsa"):
    """Runs the site as long as the block. It must exit with 0."""
    site = HttpsSite(folder, kind)
    with site.program:
        yield site
        code, _, errors = site.program.end()
        assert code == 0, errors


def s_client(place, *words, send=b""):
    """Runs `openssl s_client` until the server ends; it may fail. Returns its stdout and stderr together."""
    done = subprocess.run([tool("openssl"), "s_client", "-connect", place, "-ign_eof", *map(str, words)], input=send,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_SECONDS, check=False)
    return done.stdout.decode(errors="replace")


class ByHand:
    """TLS over a plain socket. The test decides which bytes are sent, when, and how the connection ends."""

    def __init__(self, address, context, host="localhost", step=65536, session=None):
        self.socket = connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._step = step
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_hostname=host, session=session)
        # True after the peer's FIN. If no close_notify came before it, the stream was cut short.
        self.ended = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def records(self, *messages):
        """Returns the encrypted records of the messages, without sending them."""
        for message in messages:
            self.tls.write(message)
        return self._out.read()

    def flush(self):
        cipher = self._out.read()
        for at in range(0, len(cipher), self._step):
            self.socket.sendall(cipher[at:at + self._step])

    def send(self, plain):
        self.tls.write(plain)
        self.flush()

    def shake_hands(self):
        self.until_done(self.tls.do_handshake)

    def until_done(self, call, *arguments):
        """Repeats the call until it needs nothing more from the peer. Returns its result."""
        while True:
            try:
                result = call(*arguments)
                self.flush()
                return result
            except ssl.SSLWantReadError:
                self.flush()
                self.take()

    def take(self):
        chunk = self.socket.recv(65536)
        if chunk:
            self._in.write(chunk)
        else:
            self.ended = True
            self._in.write_eof()

    def read_to_the_mark(self):
        """Returns all data up to the peer's close_notify. Raises ssl.SSLEOFError if the peer ends without it."""
        plain = b""
        while True:
            try:
                chunk = self.until_done(self.tls.read, 65536)
            except ssl.SSLZeroReturnError:
                return plain
            if not chunk:
                return plain
            plain += chunk
