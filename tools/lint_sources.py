# SPDX-License-Identifier: BSD-3-Clause
"""clang-tidy over every C++ source that a configured build folder compiles.

Most of what clang-tidy costs is reading the headers of others, so sources that are compiled with the same flags are
read together, as one that includes them all. Those that cannot be (two of them define the same name) are told apart by
what the compiler says meanwhile, and read again, in further groups. A clean verdict is kept in BUILD_FOLDER/tidied
under the hash of the source, of every header of the repository and of the rules, so that only what changed is looked at
again.

clang-tidy reads the sources that affected.py names. It checks identifiers, a third of its time, only in the sources
that show every changed line (Affected.written()). With --all it reads every source with every check.

lint_sources.py BUILD_FOLDER [--jobs N] [--all] [SOURCE ...]
"""
import argparse
import concurrent.futures
import hashlib
import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from affected import Affected

ROOT = Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-19"
# What is included counts as a header. That a source is included is what we do, not what is to be found.
LOOKED_AT = (r"/((peal|load|cli|models|examples|starters)/.*\.h"
             r"|(peal|load|cli|models|examples|starters|fuzz|versus)/.*\.cc)$")
CHECKS = "-bugprone-suspicious-include"
NAMES = "readability-identifier-naming"
MOST_TOGETHER = 40
NOISE = re.compile(r"^\d+ (warnings?|errors?) .*(generated|treated)|^Suppressed|^Use -header")
BROKEN = "[clang-diagnostic-error]"
MISFIT = re.compile(r"^(/[^:\n]+\.cc):\d+:\d+: error: .* " + re.escape(BROKEN) + "$", re.M)


@dataclass(frozen=True)
class Source:
    path: str
    flags: tuple[str, ...]
    names: bool = True  # are judged


def looked_at(build):
    """Which headers count: those of the tree that `build` was configured for, by the name it was given, wherever that
    lies. A folder above it may be called peal too."""
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    root = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M)[1]
    return "^" + re.escape(root) + LOOKED_AT


def flags_of(entry):
    """The flags of a compilation, without what names its source and its object."""
    words = shlex.split(entry["command"])
    while words and not words[0].startswith("-"):
        words.pop(0)  # the compiler, and what launches it
    kept = []
    skip = False
    for word in words:
        if skip or word in ("-c", "-o", entry["file"]):
            skip = word == "-o"
            continue
        kept.append(word)
    return tuple(kept)


def sources_of(entries):
    return [Source(entry["file"], flags_of(entry)) for entry in entries if entry["file"].endswith(".cc")]


def groups_of(sources, most=MOST_TOGETHER):
    """Those of one folder of the root that are read in the same way together, at most `most`, the largest groups first.
    Contenders are programs of one shape, whose functions have the same names: alone."""
    by_kind = {}
    for source in sources:
        parts = Path(source.path).relative_to(ROOT).parts if Path(source.path).is_relative_to(ROOT) else ("",)
        kind = (parts if parts[0] == "versus" else parts[0], source.flags, source.names)
        by_kind.setdefault(kind, []).append(source)
    groups = [kind[at:at + most] for kind in by_kind.values() for at in range(0, len(kind), most)]
    return sorted(groups, key=len, reverse=True)


def together(group):
    """One source that includes all of the group; each has a `main` of its own, if any."""
    lines = []
    for at, source in enumerate(group):
        lines += [f"#define main main_{at}  // NOLINT", f'#include "{source.path}"', "#undef main"]
    return "\n".join(lines) + "\n" if len(group) > 1 else f'#include "{group[0].path}"\n'


def misfits(output, group):
    """Which of the group the compiler complains of."""
    blamed = set(MISFIT.findall(output))
    return [source for source in group if source.path in blamed]


def parts_of(group, apart):
    """The group, which cannot be read together, in parts that may be: those `apart`, and the rest."""
    if not apart or len(apart) == len(group):
        return [[source] for source in group]
    return [[source for source in group if source not in apart], apart]


class Verdicts:
    """What was found clean before."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run([ROOT / "scripts" / "sources"], capture_output=True, check=True, cwd=ROOT).stdout
        self._common = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
        for name in sorted(filter(lambda name: name.endswith(".h"), listed.decode().split("\0"))):
            self._common.update((ROOT / name).read_bytes())

    def _file(self, source):
        key = self._common.copy()
        key.update(Path(source.path).read_bytes() + repr((source.flags, source.names)).encode())
        return self.folder / key.hexdigest()

    def known(self, source):
        return self._file(source).exists()

    def keep(self, group):
        for source in group:
            self._file(source).touch()


class Reader:
    """Reads groups, several at a time."""

    def __init__(self, build):
        self._folder = build / "groups"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._headers = looked_at(build)

    def _run(self, words, group):
        text = together(group)
        file = self._folder / (hashlib.sha256(text.encode() + repr(group[0].flags).encode()).hexdigest()[:16] + ".cc")
        file.write_text(text, encoding="utf-8")
        done = subprocess.run([word.format(file=file) for word in words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def read(self, group):
        """Pairs of a part of the group, as large as can be read together, and sentences about it; none: it is clean."""
        checks = CHECKS if group[0].names else f"{CHECKS},-{NAMES}"
        words = [TIDY, "--quiet", f"--header-filter={self._headers}", f"--checks={checks}",
                 f"--config-file={ROOT}/.clang-tidy", "{file}", "--", *group[0].flags, "-ferror-limit=0"]
        code, output = self._run(words, group)
        if len(group) > 1 and BROKEN in output:
            return [verdict for part in parts_of(group, misfits(output, group)) for verdict in self.read(part)]
        said = "\n".join(line for line in output.splitlines() if not NOISE.search(line))
        return [(group, said or f"clang-tidy ended with {code}" if code else "")]


def affected_of(sources):
    affected = Affected()
    read = set(affected.of([source.path for source in sources]))
    written = set(affected.written([source.path for source in sources]))
    return [Source(source.path, source.flags, source.path in written) for source in sources if source.path in read]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all", action="store_true", help="not what is affected alone")
    parser.add_argument("sources", nargs="*", help="only these")
    asked = parser.parse_args(arguments)
    sources = sources_of(json.loads((asked.build / "compile_commands.json").read_text(encoding="utf-8")))
    if asked.sources:
        named = {str(Path(name).resolve()) for name in asked.sources}
        sources = [source for source in sources if source.path in named]
    elif not asked.all:
        sources = affected_of(sources)
    verdicts = Verdicts(asked.build / "tidied")
    reader = Reader(asked.build)
    found = parts = 0
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        fresh = [source for source in sources if not verdicts.known(source)]
        for read in pool.map(reader.read, groups_of(fresh)):
            for part, said in read:
                parts += 1
                if said:
                    found += 1
                    print(said)
                else:
                    verdicts.keep(part)
    print(f"clang-tidy: {len(sources)} sources, {len(fresh)} of them read in {parts} parts, {found} with findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
