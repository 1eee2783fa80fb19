# SPDX-License-Identifier: BSD-3-Clause
"""The tests of this folder find tests/examples/programs.py, too; and those of the https site have one a file."""
import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import tls_parties  # noqa: E402


@pytest.fixture(name="site", scope="module")
def fixture_site(tmp_path_factory):
    with tls_parties.https_site(tmp_path_factory.mktemp("site")) as site:
        yield site
