# SPDX-License-Identifier: BSD-3-Clause
import json
import re
from pathlib import Path

import pytest

import sbom

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    monkeypatch.setattr(sbom, "upstream_version", lambda package: f"1.2+{package}")
    monkeypatch.setattr(sbom, "compilers_package", lambda: "libgcc-14-dev")
    monkeypatch.setattr(sbom, "distribution", lambda: "trixie")
    assert sbom.main([str(tmp_path / "peal.spdx.json")]) == 0
    return json.loads((tmp_path / "peal.spdx.json").read_text(encoding="utf-8"))


def test_every_package_of_others_that_a_library_links_is_listed(written):
    linked = {part.package for part in sbom.PARTS}
    text = (ROOT / "scripts/packages.txt").read_text(encoding="utf-8")
    for_library = text.split("# The library:")[1].split("# The lab:")[0]
    wanted = set(re.findall(r"^(lib\S+-dev|zlib1g-dev|nlohmann\S+)", for_library, re.MULTILINE))
    assert wanted <= linked
    assert {package["versionInfo"] for package in written["packages"]} >= {f"1.2+{package}" for package in wanted}


def test_every_relation_is_between_packages_of_the_document(written):
    known = {package["SPDXID"] for package in written["packages"]} | {"SPDXRef-DOCUMENT"}
    assert len(known) == len(written["packages"]) + 1
    for relation in written["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= known


def test_the_time_of_creation_can_be_set(written):
    assert written["creationInfo"]["created"] == "1970-01-02T00:00:00Z"


def test_the_same_parts_are_the_same_document(written, monkeypatch):
    monkeypatch.setattr(sbom, "upstream_version", lambda package: f"1.2+{package}")
    assert sbom.document(86400) == written
    monkeypatch.setattr(sbom, "upstream_version", lambda package: "1.3")
    assert sbom.document(86400)["documentNamespace"] != written["documentNamespace"]


def test_the_package_of_libbacktrace_is_the_one_of_the_compiler(written, monkeypatch):
    part = next(package for package in written["packages"] if package["name"] == "libbacktrace")
    assert part["versionInfo"] == "1.2+libgcc-14-dev"
    assert part["externalRefs"][0]["referenceLocator"] == "pkg:deb/debian/libgcc-14-dev?distro=trixie"

    asked = []

    def answer(words, **options):
        asked.append(words)
        path = "/usr/lib/gcc/aarch64-linux-gnu/14/libbacktrace.a"
        said = path + "\n" if words[0] == "some-g++" else f"libgcc-14-dev:arm64: {path}\n"
        return sbom.subprocess.CompletedProcess(words, 0, stdout=said)

    monkeypatch.undo()
    monkeypatch.setenv("CXX", "some-g++ -m64")
    monkeypatch.setattr(sbom.subprocess, "run", answer)
    assert sbom.compilers_package() == "libgcc-14-dev"
    assert asked[0][:2] == ["some-g++", "-m64"]
    assert asked[1][-1] == "/usr/lib/gcc/aarch64-linux-gnu/14/libbacktrace.a"


def test_a_compiler_whose_libbacktrace_is_in_no_package_is_named(monkeypatch):
    monkeypatch.setenv("CXX", "my-g++")
    monkeypatch.setattr(sbom.subprocess, "run", lambda words, **options: sbom.subprocess.CompletedProcess(
        words, 1, stdout="/opt/gcc/libbacktrace.a\n" if words[0] == "my-g++" else ""))
    with pytest.raises(SystemExit, match="/opt/gcc/libbacktrace.a, the libbacktrace of my-g"):
        sbom.compilers_package()


def test_a_version_has_neither_epoch_nor_debian_revision(monkeypatch):
    class Shown:
        stdout = "2:3.21.12-3+b1"

    monkeypatch.setattr(sbom.subprocess, "run", lambda *words, **options: Shown)
    assert sbom.upstream_version("libprotobuf-dev") == "3.21.12"
