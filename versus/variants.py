# SPDX-License-Identifier: BSD-3-Clause
"""peal built with other compilers and optimisation levels, each a contender of its own.

The release build is g++ -O2; what is here differs from it in the compiler, the level, and nothing else. A variant is
built into build/variants/NAME when a comparison asks for it; the build folder is kept, so that the next time is quick.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from versus.run import process
from versus.roster import Contender

ROOT = Path(__file__).resolve().parent.parent
BUILD_LIMIT_S = 1800.0


@dataclass(frozen=True)
class Variant:
    name: str
    cxx: str
    cc: str
    level: str

    @property
    def contender(self) -> str:
        return f"peal-epoll-{self.name}"

    @property
    def note(self) -> str:
        return f"peal on epoll, built by {self.cxx} {self.level}"


VARIANTS = (
    Variant("gcc-O0", "g++", "gcc", "-O0"),
    Variant("gcc-O3", "g++", "gcc", "-O3"),
    Variant("clang-O2", "clang++-19", "clang-19", "-O2"),
    Variant("clang-O3", "clang++-19", "clang-19", "-O3"),
)


def commands(variant: Variant, folder: Path, jobs: int) -> list[list[str]]:
    """What configures and builds `variant` into `folder`."""
    flags = f"{variant.level} -g1"
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "--log-level=WARNING",
                 "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_COMPILER={variant.cxx}", f"-DCMAKE_C_COMPILER={variant.cc}",
                 f"-DCMAKE_CXX_FLAGS={flags}", f"-DCMAKE_C_FLAGS={flags}", "-DPEAL_TESTS=OFF", "-DPEAL_BENCH=OFF",
                 "-DPEAL_CONTENDERS=OFF", "-DPEAL_PRECOMPILE=ON", "-DPEAL_MEASURED=ON"]
    return [configure, ["cmake", "--build", str(folder), "-j", str(jobs), "--target", "peal_program"]]


def _built(variant: Variant, folder: Path, jobs: int, run: Callable) -> str:
    """Builds it; why it could not be built, or ""."""
    for program in ("cmake", variant.cxx):
        if not shutil.which(program):
            return f"{program} is not there"
    for words in commands(variant, folder, jobs):
        outcome = run(words, (), BUILD_LIMIT_S)
        if outcome.code != 0:
            return f"its build failed: {outcome.complaint or outcome.out.strip()[-200:] or 'it took too long'}"
    return ""


def build(model: Contender, wanted: tuple[str, ...], say: Callable[[str], None], jobs: int,
          root: Path = ROOT / "build" / "variants", run: Callable = process.run) -> tuple[list[Contender], list[str]]:
    """The variants of `model` (peal-epoll) among `wanted`, built, and a sentence for each that could not be."""
    ready, absent = [], []
    for variant in (variant for variant in VARIANTS if variant.contender in wanted):
        folder = root / variant.name
        say(f"building {variant.contender} ({variant.cxx} {variant.level}) in {folder}")
        why = _built(variant, folder, jobs, run)
        if why:
            absent.append(f"{variant.contender}: {why}")
            continue
        command = (str(folder / "bin" / "peal"), *model.command[1:])
        ready.append(replace(model, name=variant.contender, command=command, note=variant.note))
    return ready, absent
