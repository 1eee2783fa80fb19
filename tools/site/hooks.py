# SPDX-License-Identifier: BSD-3-Clause
"""Run by mkdocs for each page: the language switch leads to the same page in the other language, if it has that page,
and otherwise to its front page.

The theme makes every address relative to the page and cannot leave the language's folder. So it gets a mark for each
language, which is replaced when the page is complete.
"""
import posixpath
import re

_MARK = "to-language-"
# From a language named in a page's head, the theme would ask for that language's sitemap, which no file answers.
_IN_HEAD = re.compile(rf'\s*<link rel="alternate" href="[^"]*{_MARK}[^>]*>')
_MARKED = re.compile(rf'href="[^"]*{_MARK}(\w+)"')


def on_config(config):
    """`languages` has, for each language: name, folder relative to this one, and its pages."""
    languages = config.extra.get("languages", [])
    if len(languages) > 1:
        config.extra["alternate"] = [{"name": one["name"], "lang": one["lang"], "link": _MARK + one["lang"]}
                                     for one in languages]
    return config


def on_post_page(output, page, config):
    languages = {one["lang"]: one for one in config.extra.get("languages", [])}
    return _MARKED.sub(lambda match: f'href="{address(languages[match[1]], page.file.src_uri)}"',
                       _IN_HEAD.sub("", output))


def address(language, page):
    """The link from `page` to that page in a language, or to the language's front page."""
    target = page if page in language["pages"] else "index.md"
    path = posixpath.join(language["folder"], target.removesuffix(".md") + ".html")
    return posixpath.relpath(path, posixpath.dirname(page) or ".")
