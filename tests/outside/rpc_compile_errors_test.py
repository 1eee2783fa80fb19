# SPDX-License-Identifier: BSD-3-Clause
"""Handlers for RpcServer::handle that must not compile, and the sentence that the compilers must say."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILERS = [name for name in ("g++", "clang++-19") if shutil.which(name)]
PLAIN = {**os.environ, "LC_ALL": "C"}

TAKES = "a handler of this method must take (peal::RpcCall&, const Request&, Response&)"
ANSWERS = "a handler of a method must return void, or Task<> if it is a coroutine"
# The wrong handlers, each with the sentence of its error.
WRONG = {
    "[](RpcCall&, const Other&, Text&) {}": TAKES,
    "[](RpcCall&, const Text&, Other&) {}": TAKES,
    "[](RpcCall&, Text&, Text&) {}": TAKES,
    "[](const Text&, Text&) {}": TAKES,
    "[n = 0](RpcCall&, const Text&, Text&) mutable { ++n; }": TAKES,
    "[](RpcCall&, const Text&, Text&) { return 1; }": ANSWERS,
    "[](RpcCall&, const Text&, Text&) -> Task<int> { co_return 1; }": ANSWERS,
}
RIGHT = ["[](RpcCall&, const Text&, Text&) {}", "[](RpcCall&, const Text&, Text&) -> Task<> { co_return; }"]

# A service like those that protoc generates.
HEAD = """
#include <google/protobuf/wrappers.pb.h>
#include <peal/protobuf/rpc/rpc_server.h>
using namespace peal;
using Text = google::protobuf::StringValue;
using Other = google::protobuf::BoolValue;
struct Texts {
  void Echo(google::protobuf::RpcController*, const Text*, Text*, google::protobuf::Closure*);
  struct Stub;
};
struct Texts::Stub : Texts {
  explicit Stub(google::protobuf::RpcChannel* channel);
};
"""


def _said(compiler, folder, handlers):
    """Compiles one function for each handler. Returns the exit code and stderr."""
    source = Path(folder) / "all.cc"
    uses = [f'#line 1 "handler_{at}.cc"\nvoid use_{at}(RpcServer& s) {{ s.handle(&Texts::Echo, {handler}); }}\n'
            for at, handler in enumerate(handlers)]
    source.write_text(HEAD + "".join(uses))
    command = [compiler, "-std=c++23", "-I", str(ROOT), "-fsyntax-only", str(source)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=PLAIN)
    return answer.returncode, answer.stderr


@pytest.fixture(scope="module", autouse=True)
def _has_protobuf():
    found = subprocess.run(["g++", "-E", "-xc++", "-"], input="#include <google/protobuf/service.h>\n", text=True,
                           capture_output=True, check=False)
    if found.returncode != 0:
        pytest.skip("protobuf's headers are not installed")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_handlers_that_are_right_compile(compiler, tmp_path):
    code, said = _said(compiler, tmp_path, RIGHT)
    assert code == 0, said


@pytest.mark.parametrize("compiler", COMPILERS)
def test_handlers_that_are_wrong_are_one_error_each_with_its_sentence(compiler, tmp_path):
    _, said = _said(compiler, tmp_path, list(WRONG))
    errors = re.findall(r"\berror: .*", said)
    assert len(errors) == len(WRONG), said
    for at, (handler, sentence) in enumerate(WRONG.items()):
        assert f"handler_{at}.cc" in said, handler
        assert sentence in errors[at], handler
