# SPDX-License-Identifier: BSD-3-Clause
"""Builds peal and the asio contender with other compilers, optimisation levels and standards. Each build is a
contender.

peal's release build is g++ -O2. A variant of it differs only in the compiler and the level. Variants of asio are a few
files, compiled here with the same options except those that give the variant its name. A variant is built into
build/variants/NAME when a comparison needs it. The folder is kept, so that the next build is quick.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from versus.run import process
from versus.roster import Contender

ROOT = Path(__file__).resolve().parent.parent
BUILD_LIMIT_S = 1800.0
CONTENDERS = ROOT / "versus" / "contenders"
CXX23 = "-std=c++23"


@dataclass(frozen=True)
class Variant:
    contender: str
    of: str  # the contender that it is a variant of
    cxx: str
    cc: str
    level: str
    standard: str = CXX23

    @property
    def note(self) -> str:
        more = "" if self.standard == CXX23 else f" {self.standard}"
        return f"{self.of}, built by {self.cxx} {self.level}{more}"


PEAL, ASIO = "peal-epoll", "asio-per-thread"
VARIANTS = (
    Variant("peal-epoll-gcc-O0", PEAL, "g++", "gcc", "-O0"),
    Variant("peal-epoll-gcc-O3", PEAL, "g++", "gcc", "-O3"),
    Variant("peal-epoll-clang-O2", PEAL, "clang++-19", "clang-19", "-O2"),
    Variant("peal-epoll-clang-O3", PEAL, "clang++-19", "clang-19", "-O3"),
    Variant("asio-gcc-O2", ASIO, "g++", "gcc", "-O2"),
    Variant("asio-clang-O3", ASIO, "clang++-19", "clang-19", "-O3"),
    Variant("asio-gcc-O2-cxx14", ASIO, "g++", "gcc", "-O2", "-std=c++14"),
)


def _of_peal(variant: Variant, folder: Path, jobs: int) -> list[list[str]]:
    flags = f"{variant.level} -g1"
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "--log-level=WARNING",
                 "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_COMPILER={variant.cxx}", f"-DCMAKE_C_COMPILER={variant.cc}",
                 f"-DCMAKE_CXX_FLAGS={flags}", f"-DCMAKE_C_FLAGS={flags}", "-DPEAL_TESTS=OFF", "-DPEAL_BENCH=OFF",
                 "-DPEAL_CONTENDERS=OFF"]
    return [configure, ["cmake", "--build", str(folder), "-j", str(jobs), "--target", "peal_program"]]


def _of_asio(variant: Variant, folder: Path) -> list[list[str]]:
    common, program = CONTENDERS / "common", program_of(variant, folder)
    flags, parts = [variant.level, "-g1", f"-I{common}", "-D_GNU_SOURCE"], ("contender", "contender_program")
    return [["mkdir", "-p", str(program.parent)],
            *([variant.cc, *flags, "-c", str(common / f"{name}.c"), "-o", str(folder / f"{name}.o")] for name in parts),
            [variant.cxx, variant.standard, *flags, "-DASIO_STANDALONE", "-DASIO_NO_DEPRECATED", "-DONE_LOOP=0",
             "-DLOCKED=0", str(CONTENDERS / "asio" / "asio_echo.cc"), str(common / "asio_loops.cc"),
             *(str(folder / f"{name}.o") for name in parts), "-o", str(program), "-lpthread"]]


def commands(variant: Variant, folder: Path, jobs: int) -> list[list[str]]:
    """Returns the commands that build `variant` into `folder`."""
    return _of_peal(variant, folder, jobs) if variant.of == PEAL else _of_asio(variant, folder)


def program_of(variant: Variant, folder: Path) -> Path:
    return folder / "bin" / ("peal" if variant.of == PEAL else variant.contender)


def _built(variant: Variant, folder: Path, jobs: int, run: Callable) -> str:
    """Builds a variant. Returns why it could not be built, or ""."""
    for program in ("cmake", variant.cxx, variant.cc):
        if not shutil.which(program):
            return f"{program} is not there"
    for words in commands(variant, folder, jobs):
        outcome = run(words, (), BUILD_LIMIT_S)
        if outcome.code != 0:
            return f"its build failed: {outcome.complaint or outcome.out.strip()[-200:] or 'it took too long'}"
    return ""


def build(models: list[Contender], wanted: tuple[str, ...], say: Callable[[str], None], jobs: int,
          root: Path = ROOT / "build" / "variants", run: Callable = process.run) -> tuple[list[Contender], list[str]]:
    """Builds the variants among `wanted` of `models` (peal-epoll, asio-per-thread). Returns them, and a sentence for
    each that could not be built."""
    ready, absent = [], []
    of = {model.name: model for model in models}
    for variant in (variant for variant in VARIANTS if variant.contender in wanted and variant.of in of):
        folder = root / variant.contender
        say(f"building {variant.contender} ({variant.note}) in {folder}")
        why = _built(variant, folder, jobs, run)
        if why:
            absent.append(f"{variant.contender}: {why}")
            continue
        model = of[variant.of]
        command = (str(program_of(variant, folder)), *model.command[1:])
        ready.append(replace(model, name=variant.contender, command=command, note=variant.note))
    return ready, absent
