# SPDX-License-Identifier: BSD-3-Clause
"""Helpers for tests of contenders over TLS: a certificate, and the client side of TLS."""
import atexit
import functools
import shutil
import ssl
import subprocess
import tempfile
from pathlib import Path


@functools.cache
def certificate():
    """Returns the files (certificate, key) of localhost. They are made once and deleted when the tests end."""
    folder = Path(tempfile.mkdtemp(prefix="contenders-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    paths = str(folder / "cert.pem"), str(folder / "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2",
                    "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


def words():
    """Returns the command-line words that give this certificate to a contender over TLS."""
    paths = certificate()
    return ["--tls-cert", paths[0], "--tls-key", paths[1]]


@functools.cache
def context():
    """Returns a client's TLS context that trusts only that certificate."""
    return ssl.create_default_context(cafile=certificate()[0])


def over(stream, session=None):
    """Returns a TLS connection over a connected socket; the handshake is done."""
    return context().wrap_socket(stream, server_hostname="localhost", session=session)
