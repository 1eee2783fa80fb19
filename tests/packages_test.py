# SPDX-License-Identifier: BSD-3-Clause
"""Each recipe of a package agrees with the sources: versions, folders, packages, libraries.

The recipes are those of `make deb`, `make static`, deploy/Dockerfile, deploy/conan and deploy/vcpkg.
"""
import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from project_version import project_version  # noqa: E402

DEBIAN = ROOT / "deploy/debian"
BIN = Path(os.environ.get("PEAL_BIN_DIR", ROOT / "build/dev/bin"))
# Every Debian image has these, because apt needs them.
IN_EVERY_IMAGE = {"libc6", "libgcc-s1", "libstdc++6"}


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def paragraphs():
    """The paragraphs of debian/control as {field: value}."""
    return [dict(re.findall(r"^(\S+): ?((?:.|\n )*)", paragraph, re.MULTILINE))
            for paragraph in text("deploy/debian/control").split("\n\n")]


def named(field):
    """The names of packages in a field such as Depends."""
    return {re.split(r"[ :(]", entry.strip())[0] for entry in field.split(",")}


def test_every_package_has_the_version_of_the_project():
    version = project_version(ROOT)
    assert text("deploy/debian/changelog").startswith(f"peal ({version}) ")
    assert json.loads(text("deploy/vcpkg/vcpkg.json"))["version"] == version
    shared = ".".join(version.split(".")[:2])
    assert f"PEAL_{shared} {{" in text("cmake/libpeal.map")
    assert any(package.get("Package") == f"libpeal{shared}" for package in paragraphs())


def test_every_folder_of_public_headers_is_in_one_package():
    rooms = {path.relative_to(ROOT / "peal").parts[0] for path in (ROOT / "peal").rglob("*.h")}
    installed = re.findall(r"^usr/include/peal/(\S+)$", "".join(
        path.read_text(encoding="utf-8") for path in DEBIAN.glob("*.install")), re.MULTILINE)
    assert sorted(installed) == sorted(rooms)


def test_every_package_has_a_list_of_its_files():
    packages = {package["Package"] for package in paragraphs() if "Package" in package}
    assert packages == {path.name.removesuffix(".install") for path in DEBIAN.glob("*.install")}


def test_setup_installs_what_the_packages_are_built_with():
    listed = set(re.findall(r"^([a-z][\w.+-]+)", text("scripts/packages.txt"), re.MULTILINE))
    wanted = named(paragraphs()[0]["Build-Depends"]) - {"debhelper-compat", "pkgconf", "python3"}
    assert wanted <= listed


def test_who_links_the_static_library_gets_what_it_links():
    modules = re.search(r"^Requires.private: (.*)$", text("cmake/peal.pc.in"), re.MULTILINE).group(1).split()
    debian = {"spdlog": "libspdlog-dev", "liburing": "liburing-dev", "libcares": "libc-ares-dev", "zlib": "zlib1g-dev",
              "libzstd": "libzstd-dev"}
    depends = next(package for package in paragraphs() if package.get("Package") == "libpeal-dev")["Depends"]
    assert {debian[module] for module in modules} <= named(depends)


def lists_of(path):
    """The lists of a Python file that have a name in capitals, as {name: list}."""
    return {node.targets[0].id: ast.literal_eval(node.value) for node in ast.parse(text(path)).body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.List)}


def test_conan_asks_for_the_packages_of_the_library():
    group = re.search(r"^# The library:.*?\n\n", text("scripts/packages.txt"), re.MULTILINE | re.DOTALL).group()
    wanted = set(re.findall(r"^([a-z][\w.+-]+)", group, re.MULTILINE)) - {"g++", "cmake", "ninja-build", "make"}
    asked = lists_of("deploy/conan/conanfile.py")
    assert set(asked["PACKAGES"]) | set(asked["PROTOBUF_PACKAGES"]) == wanted


def test_the_static_programs_link_archives_only(tmp_path):
    for program in ("cmake", "ninja", "g++"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    recipe = re.search(r"^static:.*?\n\n", text("Makefile"), re.MULTILINE | re.DOTALL).group()
    options = [option for option in re.findall(r"-D\S+", recipe) if not option.startswith("-DCMAKE")]
    assert "-DPEAL_STATIC=ON" in options
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path, *options], check=True, capture_output=True)
    for program in ("peal", "peal-model"):
        commands = subprocess.run(["ninja", "-C", tmp_path, "-t", "commands", f"bin/{program}"], check=True,
                                  capture_output=True, text=True).stdout.splitlines()
        words = commands[-1].split()
        assert "-static-pie" in words
        assert "-rpath" not in commands[-1]  # glibc's start code stops a static-pie program that has an RPATH
        assert [word for word in words if re.search(r"\.so\b", word)] == []
        compiled = [line for line in commands if " -c " in line]
        assert compiled
        assert [line for line in compiled if "FMT_HEADER_ONLY" not in line or "SPDLOG_COMPILED_LIB" in line] == []


@pytest.mark.parametrize("stage, programs", [("program", ["peal", "peal-model"]),
                                             ("service", ["examples/notes_production"])])
def test_the_image_has_every_library_of_its_programs(stage, programs):
    if shutil.which("dpkg") is None or not all((BIN / program).exists() for program in programs):
        pytest.skip("this is not Debian, or the programs were not built")
    stages = text("deploy/Dockerfile").split("FROM ")
    recipe = next(part for part in stages if part.split("\n")[0].endswith(f" AS {stage}"))
    for program in programs:
        said = subprocess.run(["ldd", BIN / program], capture_output=True, text=True, check=True).stdout
        for path in re.findall(r"=> (/\S+)", said):
            real = os.path.realpath(path)
            if real.startswith(str(BIN.resolve().parent)):
                continue  # peal itself, which this build has as shared libraries
            owners = [subprocess.run(["dpkg", "-S", name], capture_output=True, text=True, check=False).stdout
                      for name in (real, real.removeprefix("/usr"))]
            package = "".join(owners).split(":")[0]
            assert package in IN_EVERY_IMAGE or re.search(rf"\b{re.escape(package)}(?=\s)", recipe), (
                f"{path} of {program} is in {package}")
