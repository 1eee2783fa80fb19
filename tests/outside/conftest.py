# SPDX-License-Identifier: BSD-3-Clause
"""Lets the tests of this folder import tests/examples/programs.py, and gives each file one https site."""
import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import tls_parties  # noqa: E402


@pytest.fixture(name="site", scope="module")
def fixture_site(tmp_path_factory):
    with tls_parties.https_site(tmp_path_factory.mktemp("site")) as site:
        yield site
