# SPDX-License-Identifier: BSD-3-Clause
"""The public headers of peal, and what libclang reads in them."""
from pathlib import Path

from clang.cindex import Diagnostic, Index, TranslationUnit


class HeaderErrors(RuntimeError):
    """The headers do not compile; the text is what the compiler says."""


def public_headers(root: Path) -> list[str]:
    """The API: every header under peal/ that is in no folder `parts/`, as paths from the root."""
    return sorted(str(path.relative_to(root)) for path in (root / "peal").rglob("*.h")
                  if "parts" not in path.relative_to(root).parts)


def parse(root: Path, paths: list[str]) -> TranslationUnit:
    """The headers as one source. They know their files by `root` and their path."""
    source = str(root / "every_public_header.cc")
    text = "".join(f"#include <{path}>\n" for path in paths)
    unit = Index.create().parse(source, args=["-std=c++23", "-xc++", f"-I{root}"], unsaved_files=[(source, text)])
    if errors := [str(one) for one in unit.diagnostics if one.severity >= Diagnostic.Error]:
        raise HeaderErrors("\n".join(errors))
    return unit
