# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of contenders over TLS share: a certificate, and a client's end of TLS on a connection of theirs."""
import atexit
import functools
import shutil
import ssl
import subprocess
import tempfile
from pathlib import Path


@functools.cache
def certificate():
    """(certificate, key) of localhost, made once and gone when the tests are over."""
    folder = Path(tempfile.mkdtemp(prefix="contenders-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    paths = str(folder / "cert.pem"), str(folder / "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2",
                    "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


def words():
    """As every contender over TLS takes it."""
    paths = certificate()
    return ["--tls-cert", paths[0], "--tls-key", paths[1]]


@functools.cache
def context():
    """A client's, that trusts that certificate alone."""
    return ssl.create_default_context(cafile=certificate()[0])


def over(stream, session=None):
    """TLS on a connected socket, hands shaken."""
    return context().wrap_socket(stream, server_hostname="localhost", session=session)
