# SPDX-License-Identifier: BSD-3-Clause
"""The page's templates, each read and compiled once."""

import functools
from pathlib import Path

import jinja2


@functools.lru_cache(maxsize=None)
def template(name: str, **filters) -> jinja2.Template:
    """The template in the file `name` beside this one, in which `filters` can be used."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined)
    environment.filters.update(filters)
    return environment.get_template(name)
