# SPDX-License-Identifier: BSD-3-Clause
"""docs/troubles.md must have one section for each value of Trouble, HttpTrouble and RpcTrouble, and no other section.

A section has the sentence of the error and a cure. A sentence must fit on one line.
"""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/troubles.md").read_text(encoding="utf-8")
MOST_LETTERS = 80
# The sentences that end with a name or a number.
OPEN = {"kMalformed": "malformed response: ...", "kServerRefused": "the server answers ...",
        "kProxyRefused": "the proxy answers ... instead of opening a tunnel"}
ENUMS = {"Trouble": ("peal/base/result.h", "peal/base/result.cc"),
         "HttpTrouble": ("peal/http/client/http_trouble.h", "peal/http/client/http_trouble.cc"),
         "RpcTrouble": ("peal/protobuf/rpc/rpc_trouble.h", "peal/protobuf/rpc/rpc_trouble.cc")}


def values(enum):
    """Returns the enumerators of the header."""
    body = re.search(rf"enum class {enum} : int {{(.*?)\n}};", (ROOT / ENUMS[enum][0]).read_text(), re.DOTALL)[1]
    return re.findall(r"\b(k[A-Z]\w*)", re.sub(r"//.*", "", body))


def sentences(enum):
    """Returns the sentence of each enumerator."""
    return dict(re.findall(rf'case {enum}::(k\w+): return "([^"]*)"', (ROOT / ENUMS[enum][1]).read_text()))


def sections():
    """Returns the text under each heading."""
    return dict(re.findall(r"^### (.+)\n((?:(?!^#).*\n)*)", PAGE, re.MULTILINE))


def test_every_value_has_a_section_and_every_section_a_value():
    named = {f"{enum}::{value}" for enum in ENUMS for value in values(enum)}
    assert len(named) > 25
    assert set(sections()) == named


@pytest.mark.parametrize("enum", ENUMS)
def test_a_section_shows_the_sentence_and_a_cure(enum):
    said = sentences(enum)
    assert set(values(enum)) - set(said) <= set(OPEN)
    for value in values(enum):
        text = sections()[f"{enum}::{value}"]
        assert text.startswith(f"> {said.get(value) or OPEN[value]}\n"), value
        assert re.search(r"^Cure: \S", text, re.MULTILINE), value


@pytest.mark.parametrize("enum", ENUMS)
def test_sentences_are_short_and_go_on_a_line(enum):
    for value, sentence in sentences(enum).items():
        assert len(sentence) <= MOST_LETTERS, value
        assert not sentence.endswith(".") and not sentence[0].isspace(), value
