#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the site of peal into one folder that opens offline, and checks it.

  tools/site/build.py [--out FOLDER]    by default build/site/html; index.html in it is the front page

It makes a virtual environment of its own with the packages of requirements.txt, writes the reference and the documents
as the builder wants them, runs mkdocs once a language, and then looks for dead links and requests that leave the site.
"""
import argparse
import json
import os
import posixpath
import shutil
import subprocess
import sys
from pathlib import Path

import documents
import link_check
import navigation
import reference
import sources
from project_version import project_version

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "build" / "site"
VENV = WORK / "venv"
_ASSETS = {"javascripts/keyboard.js": "assets/javascripts/keyboard.js",
           "stylesheets/peal.css": "assets/stylesheets/peal.css",
           "javascripts/iframe-worker.js": "third_party/iframe-worker/shim.js",
           "javascripts/iframe-worker.LICENSE.txt": "third_party/iframe-worker/LICENSE"}
_DESCRIPTION = "A C++23 network library for Linux: the guide, the documents and the reference of the API."


def prepare_environment():
    """Installs mkdocs and its extensions into the environment, unless they are there in these versions."""
    wanted, installed = HERE / "requirements.txt", VENV / "installed.txt"
    if installed.exists() and installed.read_text() == wanted.read_text():
        return
    print("site: installing the builder into build/site/venv", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    subprocess.run([VENV / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    "--require-hashes", "-r", wanted], check=True)
    installed.write_text(wanted.read_text())


def commit_of(root):
    """The commit of the sources; empty if they are in no repository."""
    return subprocess.run(["git", "-C", root, "rev-parse", "--short=12", "HEAD"], capture_output=True,
                          text=True).stdout.strip()


class Stage:
    """The sources of one language's site, in the form that mkdocs reads."""

    def __init__(self, root, folder, language, english=None):
        self.root, self.folder, self.language = root, folder, language
        self.pages = navigation.documents(root, language)
        self._english = english  # the stage of the English site, where what has no translation leads to
        self._sources = {}

    def _target(self, page):
        """A function that says how `page` links to a file of the repository."""
        def target(path, anchor):
            if (self.root / path).is_dir() and (self.root / path / "README.md").exists():
                path = posixpath.normpath(posixpath.join(path, "README.md"))
            if path in self.pages:
                return posixpath.relpath(self.pages[path], posixpath.dirname(page)) + anchor
            if self._english:
                return "../" * (page.count("/") + 1) + self._english.html_of(path) + anchor
            if path.startswith("docs/images/"):
                return posixpath.relpath(path.removeprefix("docs/"), posixpath.dirname(page)) + anchor
            return posixpath.relpath(self.source_of(path), posixpath.dirname(page)) + anchor
        return target

    def source_of(self, path):
        return self._sources.setdefault(path, sources.page_of(self.root, path))

    def html_of(self, path):
        """Where the English site shows a file of the repository."""
        if path.startswith("docs/images/"):
            return path.removeprefix("docs/")
        return (self.pages.get(path) or self.source_of(path)).removesuffix(".md") + ".html"

    def write_documents(self):
        for path, page in self.pages.items():
            text = (self.root / path).read_text(encoding="utf-8")
            head = "---\nhide:\n  - navigation\n---\n\n" if page in navigation.ALONE else ""
            self._write(page, head + documents.converted(text, path, self._target(page)))
        for place, source in _ASSETS.items():
            target = self.folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(HERE / source, target)

    def write_sources(self, api):
        """Pages for the files and folders that any language links to."""
        for path, page in sorted(self._sources.items()):
            if (self.root / path).is_dir():
                self._write(page, sources.folder_page(self.root, path, self._sources))
                continue
            place, note = api.names.headers.get(path), ""
            if place:
                note = f"[What this header declares]({posixpath.relpath(place, posixpath.dirname(page))})"
                note = note.replace(".html)", ".md)")
            self._write(page, sources.file_page(self.root, path, note))
        shutil.copytree(self.root / "docs/images", self.folder / "images", dirs_exist_ok=True)

    def _write(self, page, text):
        target = self.folder / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def languages(root):
    """English, and each language that has a front page in docs/."""
    return ["en", *(language for language in navigation.LANGUAGES
                    if language != "en" and (root / "docs" / language / "README.md").exists())]


def write_configuration(stage, tabs, out, others, number, commit):
    """Writes the configuration of one language and returns its path."""
    language = stage.language
    extra = {"languages": [
        {"name": navigation.LANGUAGES[one.language], "lang": one.language, "pages": sorted(one.pages.values()),
         "folder": posixpath.relpath(_folder_of(one.language), _folder_of(language))} for one in others]}
    said = f"peal {number}" + (f", commit {commit}" if commit else "") + ". BSD 3-Clause."
    values = {"INHERIT": str(HERE / "mkdocs.yml"), "site_name": f"peal {number}", "site_description": _DESCRIPTION,
              "docs_dir": str(stage.folder), "site_dir": str(out / _folder_of(language)), "copyright": said,
              "nav": tabs, "theme": {"language": language}, "extra": extra, "hooks": [str(HERE / "hooks.py")],
              "plugins": [{"search": {"lang": ["en"] if language == "en" else [language, "en"],
                                      "separator": r"""[\s\u200b\u3000\-,:!=\[\]()"/&<>.`+~、。，．？！；：（）]+"""}},
                          "offline"]}
    path = WORK / f"mkdocs-{language}.yml"
    path.write_text(json.dumps(values, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def _folder_of(language):
    return "." if language == "en" else language


def run_builder(configuration, out):
    """Runs mkdocs, and removes what only a web server would use: their links begin at its root."""
    temporary = WORK / "tmp"  # the splitter of Chinese words keeps its dictionary there
    temporary.mkdir(exist_ok=True)
    done = subprocess.run([VENV / "bin/python", "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file",
                           configuration], cwd=WORK, capture_output=True, text=True,
                          env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "TMPDIR": str(temporary)})
    if done.returncode:
        raise SystemExit(f"site: mkdocs failed\n{done.stdout}{done.stderr}")
    for name in ("404.html", "sitemap.xml", "sitemap.xml.gz"):
        (out / name).unlink(missing_ok=True)


def build(root, out):
    """Builds the site into `out`. Returns the figures of the reference."""
    prepare_environment()
    shutil.rmtree(out, ignore_errors=True)
    shutil.rmtree(WORK / "pages", ignore_errors=True)
    number, commit = project_version(root), commit_of(root)
    api = reference.make(root, number, navigation.documents(root, "en"))
    stages = [Stage(root, WORK / "pages" / "en", "en")]
    stages += [Stage(root, WORK / "pages" / one, one, stages[0]) for one in languages(root)[1:]]
    for stage in stages:
        stage.write_documents()
    stages[0].write_sources(api)
    api.write(stages[0].folder)
    for stage in stages:
        tabs = (navigation.english(root, api.navigation) if stage.language == "en"
                else navigation.translated(root, stage.language))
        run_builder(write_configuration(stage, tabs, out, stages, number, commit), out / _folder_of(stage.language))
    return api.figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=WORK / "html", help="where the site goes")
    out = parser.parse_args().out.resolve()
    figures = build(ROOT, out)
    told, all_of_them = figures["documented"], figures["declarations"]
    print(f"site: {all_of_them} declarations of {figures['headers']} headers, {told} with a comment "
          f"({100 * told / all_of_them:.0f} %); without: "
          + ", ".join(f"{count} {kind}" for kind, count in figures["silent"].items()))
    faults = link_check.faults(out)
    for fault in faults:
        print(fault)
    pages = sum(1 for _ in out.rglob("*.html"))
    print(f"site: {pages} pages, {len(faults)} dead links or requests that leave the site")
    print(f"site: {out / 'index.html'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
