# SPDX-License-Identifier: BSD-3-Clause
"""The files for contenders over TLS: one certificate for all (ECDSA P-256, for localhost), its key, and a folder with a
file to download."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from versus.roster import TLS_KINDS, Contender
from versus.run import process

FILE = "one-mib.bin"
FILE_BYTES = 1 << 20
LIMIT_S = 30.0


class NoCertificate(RuntimeError):
    """There is no certificate, and none can be made. The text is one sentence that says why."""


@dataclass(frozen=True)
class TlsFiles:
    """The paths of the files."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / "cert.pem"

    @property
    def key(self) -> Path:
        return self.folder / "key.pem"

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def given_to(self, contenders: list[Contender]) -> list[Contender]:
        """Returns the contenders; the contenders over TLS have these files."""
        files = (("cert", str(self.certificate)), ("key", str(self.key)), ("root", str(self.root)))
        return [replace(each, files=files) if each.kind in TLS_KINDS else each for each in contenders]


def _commands(program: Path | str, files: TlsFiles) -> list[list[str]]:
    """Returns the commands that make the certificate: first the program under test, then openssl if that fails."""
    return [[str(program), "tls", "self-signed", "--name", "localhost", "--name", "127.0.0.1", "--out-cert",
             str(files.certificate), "--out-key", str(files.key)],
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
             "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "30", "-out",
             str(files.certificate), "-keyout", str(files.key)]]


def made_in(folder: Path, program: Path | str) -> TlsFiles:
    """Makes the files in `folder`. A certificate and key that exist are kept. Raises NoCertificate."""
    files = TlsFiles(folder.resolve())
    files.root.mkdir(parents=True, exist_ok=True)
    for each in (files.folder, files.root):
        os.chmod(each, 0o755)  # nginx's workers may run as another user
    (files.root / FILE).write_bytes(bytes(range(256)) * (FILE_BYTES // 256))
    said = ""
    for words in _commands(program, files):
        if files.certificate.exists() and files.key.exists():
            return files
        said = process.run(words, limit_s=LIMIT_S).complaint
    if files.certificate.exists() and files.key.exists():
        return files
    raise NoCertificate(f"cannot make a certificate in {files.folder}: {said or 'openssl printed no error'}")
