# SPDX-License-Identifier: BSD-3-Clause
"""Run by mkdocs for each page: the language switch leads to the same page in the other language, if it has that page,
and otherwise to its front page."""
import posixpath


def on_page_context(context, page, config, nav):
    """`languages` of the configuration has, for each language: name, folder relative to this one, and its pages."""
    languages = config.extra.get("languages", [])
    if len(languages) > 1:
        config.extra["alternate"] = [
            {"name": one["name"], "lang": one["lang"], "link": posixpath.join(one["folder"], _page(one, page.file))}
            for one in languages]
    return context


def _page(language, file):
    path = file.src_uri if file.src_uri in language["pages"] else "index.md"
    return path.removesuffix(".md") + ".html"
