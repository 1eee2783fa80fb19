#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes what peal's libraries and programs are made of, as SPDX 2.3 in JSON.

    sbom.py FILE

Versions are those of the Debian packages on this machine. CXX names the compiler that peal is built with; the default
is g++. SOURCE_DATE_EPOCH sets the time of creation; the same packages then give the same bytes.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from project_version import project_version

REPOSITORY = Path(__file__).resolve().parent.parent
# In place of a package: libbacktrace is in the compiler's own package, whose name has the compiler's version.
WITH_COMPILER = ""
OURS = ("libpeal", "libpeal_tls", "libpeal_sim", "libpeal_protobuf", "peal", "peal-model", "peal-rpc")


@dataclass(frozen=True)
class Part:
    """Something of others that peal is built with: the Debian package that has its headers, and who links it."""

    name: str
    package: str
    licence: str
    home: str
    linked_by: tuple[str, ...]
    compiled_in: bool = False  # only its headers are used: a part of the binary, not beside it


PARTS = (
    Part("fmt", "libfmt-dev", "MIT", "https://fmt.dev", ("libpeal",)),
    Part("spdlog", "libspdlog-dev", "MIT", "https://github.com/gabime/spdlog", ("libpeal",)),
    Part("liburing", "liburing-dev", "MIT", "https://git.kernel.dk/cgit/liburing", ("libpeal",)),
    Part("c-ares", "libc-ares-dev", "MIT", "https://c-ares.org", ("libpeal",)),
    Part("zlib", "zlib1g-dev", "Zlib", "https://zlib.net", ("libpeal", "peal")),
    Part("zstd", "libzstd-dev", "BSD-3-Clause", "https://facebook.github.io/zstd", ("libpeal",)),
    Part("libbacktrace", WITH_COMPILER, "BSD-3-Clause", "https://gcc.gnu.org", ("libpeal",), compiled_in=True),
    Part("nlohmann-json", "nlohmann-json3-dev", "MIT", "https://json.nlohmann.me", ("libpeal", "peal"),
         compiled_in=True),
    Part("OpenSSL", "libssl-dev", "Apache-2.0", "https://openssl.org", ("libpeal_tls",)),
    Part("protobuf", "libprotobuf-dev", "BSD-3-Clause", "https://protobuf.dev", ("libpeal_protobuf",)),
    Part("libdeflate", "libdeflate-dev", "MIT", "https://github.com/ebiggers/libdeflate", ("libpeal_protobuf",)),
    Part("CLI11", "libcli11-dev", "BSD-3-Clause", "https://github.com/CLIUtils/CLI11",
         ("peal", "peal-model", "peal-rpc"), compiled_in=True),
    Part("protoc", "libprotoc-dev", "BSD-3-Clause", "https://protobuf.dev", ("peal-rpc",)),
    Part("Boost.Context", "libboost-context-dev", "BSL-1.0", "https://boost.org", ("peal-model",)),
)
# Which library of peal another one, or a program, is linked with.
INNER = {"libpeal_tls": ("libpeal",), "libpeal_sim": ("libpeal",), "libpeal_protobuf": ("libpeal",),
         "peal": ("libpeal_tls",), "peal-model": ("libpeal_tls",), "peal-rpc": ("libpeal_tls", "libpeal_protobuf")}


def compilers_package() -> str:
    """The package whose libbacktrace the compiler links: libgcc-12-dev on Debian 12."""
    compiler = os.environ.get("CXX", "g++")
    file = subprocess.run([*compiler.split(), "-print-file-name=libbacktrace.a"], capture_output=True, text=True,
                          check=True).stdout.strip()
    owner = subprocess.run(["dpkg-query", "-S", os.path.realpath(file)], capture_output=True, text=True,
                           check=False).stdout
    if not owner:
        raise SystemExit(f"sbom: no Debian package has {file}, the libbacktrace of {compiler}")
    return owner.split(":")[0]


def distribution() -> str:
    """The code name of this machine's Debian, such as bookworm."""
    return platform.freedesktop_os_release().get("VERSION_CODENAME", "unknown")


def upstream_version(package: str) -> str:
    """The version of a package that is installed, without epoch and without Debian's revision."""
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True,
                           check=False).stdout
    if not shown:
        raise SystemExit(f"sbom: the package {package} is not installed: run `make setup`")
    return re.sub(r"-[^-]*$", "", shown.split(":", 1)[-1])


def reference(name: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def described(name: str, version: str, licence: str, home: str | None, **more: str) -> dict:
    return {"SPDXID": reference(name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": "NOASSERTION", **({"homepage": home} if home else {}), **more}


def document(created_seconds: int) -> dict:
    """The whole document."""
    version = project_version(REPOSITORY)
    packages = [described(name, version, "BSD-3-Clause", None,
                          primaryPackagePurpose="LIBRARY" if name.startswith("lib") else "APPLICATION",
                          copyrightText="Copyright (c) 2026, the peal authors") for name in OURS]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", reference(name)) for name in OURS]
    relations += [(reference(outer), "STATIC_LINK", reference(inner)) for outer, inners in INNER.items()
                  for inner in inners]
    release = distribution()
    for part in PARTS:
        package = compilers_package() if part.package == WITH_COMPILER else part.package
        found = upstream_version(package)
        packages.append(described(part.name, found, part.licence, part.home, externalRefs=[
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
             "referenceLocator": f"pkg:deb/debian/{package}?distro={release}"}]))
        kind = "STATIC_LINK" if part.compiled_in else "DYNAMIC_LINK"
        relations += [(reference(user), kind, reference(part.name)) for user in part.linked_by]
    facts = json.dumps([packages, relations], sort_keys=True)
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"peal-{version}",
        "documentNamespace":
            f"https://spdx.org/spdxdocs/peal-{version}-{hashlib.sha256(facts.encode()).hexdigest()[:32]}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created_seconds)),
                         "creators": ["Tool: peal/tools/sbom.py"]},
        "packages": packages,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                          for one, kind, other in relations],
    }


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file", type=Path)
    asked = parser.parse_args(arguments)
    text = json.dumps(document(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))), indent=1) + "\n"
    asked.file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
