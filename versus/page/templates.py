# SPDX-License-Identifier: BSD-3-Clause
"""The page's templates. Each is read and compiled once."""

import functools
from pathlib import Path

import jinja2

from versus.page.verdict import number


def _bytes(value: float | None) -> str:
    if value is None:
        return "-"
    for unit, size in (("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= size:
            return f"{value / size:,.1f} {unit}"
    return f"{value:,.0f} B"


@functools.lru_cache(maxsize=None)
def template(name: str, **filters) -> jinja2.Template:
    """Returns the template in the file `name` beside this one. It can use the filters number, bytes and `filters`."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined)
    environment.filters.update(filters, number=number, bytes=_bytes)
    return environment.get_template(name)
