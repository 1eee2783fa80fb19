# SPDX-License-Identifier: BSD-3-Clause
"""peal-rpc against a server that shares no code with peal.

The server answers as muduo-protorpc does: it sends definitions as text, with only their direct imports. The test makes
its frames byte by byte.
"""
import json
import socket
import socketserver
import struct
import subprocess
import threading
import zlib

import pytest

from peal_program import BIN
from programs import PATIENCE_SECONDS, read_exactly

FAILED, CALLED_WRONGLY = 1, 2
NO_SERVICE, NO_METHOD = 2, 3
SHAPES = """
syntax = "proto2";
import "colours.proto";
import "google/protobuf/duration.proto";
package shapes;
message Square { required int32 side = 1; optional colours.Colour colour = 2;
                 optional google.protobuf.Duration age = 3; }
service ShapeService { rpc Turn(Square) returns (Square); }
"""
COLOURS = 'syntax = "proto3"; package colours; enum Colour { RED = 0; GREEN = 1; }'
FILES = {"shapes.proto": SHAPES, "colours.proto": COLOURS}
TURN = "shapes.ShapeService.Turn (shapes.Square) : shapes.Square"


def varint(number):
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(digits) + bytes([number])


def field(number, value):
    """Returns a field of a message. `value` is a varint, a text or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def read_varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return number, at


def fields(data):
    """Returns the fields of a message without repeated fields, from number to value."""
    found, at = {}, 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            found[key >> 3], at = read_varint(data, at)
        else:
            size = 8
            if key & 7 == 2:
                size, at = read_varint(data, at)
            found[key >> 3], at = data[at:at + size], at + size
    return found


class MuduoServer(socketserver.ThreadingTCPServer):
    """A server whose method Turn answers with its request. `files` are the definitions that it sends."""
    daemon_threads = True

    def __init__(self, files, methods=(TURN,)):
        super().__init__(("127.0.0.1", 0), MuduoConnection)
        self.files, self.methods = files, methods
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self.thread.start()

    def address(self):
        return f"127.0.0.1:{self.server_address[1]}"

    def __exit__(self, *why):
        self.shutdown()
        self.thread.join()
        super().__exit__(*why)

    def answer(self, service, method, request):
        """Returns the fields of the RpcMessage that answers."""
        if (service, method) == (b"muduo.net.RpcService", b"listRpc"):
            services = sorted({name.split(" ")[0].rpartition(".")[0] for name in self.methods})
            listed = b"".join(field(2, name) for name in services) + b"".join(field(3, line) for line in self.methods)
            return field(6, field(1, 0) + listed)
        if (service, method) == (b"muduo.net.RpcService", b"getService"):
            if fields(request)[1] != b"shapes.ShapeService":
                return field(6, field(1, NO_SERVICE))
            sent = b"".join(field(2, text) + field(3, name) for name, text in self.files.items())
            return field(6, field(1, 0) + sent)
        if service == b"shapes.ShapeService":
            return field(6, request) if method == b"Turn" else field(7, NO_METHOD)
        return field(7, NO_SERVICE)


class MuduoConnection(socketserver.BaseRequestHandler):
    def handle(self):
        while head := self.request.recv(4, socket.MSG_WAITALL):
            body = read_exactly(self.request, struct.unpack(">I", head)[0])
            assert body[:4] == b"RPC0" and struct.unpack(">I", body[-4:])[0] == zlib.adler32(body[:-4])
            asked = fields(body[4:-4])
            message = field(1, 2) + b"\x11" + asked[2] + self.server.answer(asked[3], asked[4], asked[5])
            content = b"RPC0" + message
            content += struct.pack(">I", zlib.adler32(content))
            self.request.sendall(struct.pack(">I", len(content)) + content)


def peal_rpc(*words, **options):
    """Runs peal-rpc. Returns its exit code, its stdout and its stderr."""
    if not (BIN / "peal-rpc").exists():
        pytest.skip("peal-rpc was not built")
    usual = {"stdin": subprocess.DEVNULL} if "input" not in options else {}
    usual |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": PATIENCE_SECONDS}
    done = subprocess.run([BIN / "peal-rpc", *words], check=False, **usual | options)
    return done.returncode, done.stdout, done.stderr


def test_a_server_is_listed():
    with MuduoServer(FILES) as server:
        listed = "shapes.ShapeService\n  Turn (shapes.Square) : shapes.Square\n"
        assert peal_rpc("list", server.address()) == (0, listed, "")
        code, definitions, errors = peal_rpc("list", server.address(), "shapes.ShapeService")
        assert (code, errors) == (0, "")
        assert definitions == f"// shapes.proto\n{SHAPES}\n// colours.proto\n{COLOURS}\n"


@pytest.mark.parametrize("by_stdin", [False, True], ids=["argument", "stdin"])
def test_a_method_is_called_with_json(by_stdin):
    square = {"side": -3, "colour": "GREEN", "age": "1.500s"}
    with MuduoServer(FILES) as server:
        words = ["call", server.address(), "shapes.ShapeService.Turn", "-" if by_stdin else json.dumps(square)]
        code, answer, errors = peal_rpc(*words, **{"input": json.dumps(square)} if by_stdin else {})
    assert (code, errors) == (0, "")
    assert json.loads(answer) == square


@pytest.mark.parametrize("files, why", [
    ({"shapes.proto": SHAPES}, "it did not send colours.proto, which shapes.proto needs"),
    ({"shapes.proto": SHAPES, "colours.proto": "enum {"}, "colours.proto cannot be parsed: line 1: "),
    ({"shapes.proto": SHAPES, "colours.proto": "package colours;"}, "shapes.proto cannot be compiled: "),
    ({"shapes.proto": SHAPES, "colours.proto": 'import "shapes.proto";'}, "it did not send shapes.proto"),
], ids=["missing", "no_definition", "without_the_type", "in_a_circle"])
def test_definitions_that_are_of_no_use_are_a_failure(files, why):
    with MuduoServer(files) as server:
        code, answer, errors = peal_rpc("call", server.address(), "shapes.ShapeService.Turn", '{"side": 1}')
    assert (code, answer) == (FAILED, "")
    assert errors.startswith("peal: the definitions of shapes.ShapeService are of no use: " + why)
    assert errors.count("\n") == 1


def test_what_a_server_sends_does_not_drive_the_terminal():
    with MuduoServer({"shapes.proto": "// \x1b[2J\n"}, ["\x1b[2J.Turn (\x07) : b"]) as server:
        assert peal_rpc("list", server.address()) == (0, "\\x1B[2J\n  Turn (\\x07) : b\n", "")
        assert "\x1b" not in peal_rpc("list", server.address(), "shapes.ShapeService")[1]


def test_a_server_of_something_else_is_a_failure():
    class Rude(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(1)

    with socketserver.TCPServer(("127.0.0.1", 0), Rude) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        code, _, errors = peal_rpc("list", f"127.0.0.1:{server.server_address[1]}")
        thread.join()
    assert code == FAILED and "is it a server of this RPC?" in errors


@pytest.mark.parametrize("command", ["list", "call"])
def test_help_has_an_example_and_wrong_words_are_a_wrong_call(command):
    code, text, _ = peal_rpc(command, "--help")
    assert code == 0 and f"\n  peal-rpc {command} 127.0.0.1:9981" in text
    assert peal_rpc(command)[0] == peal_rpc(command, "--no-such-option")[0] == CALLED_WRONGLY


def test_an_answer_that_cannot_be_written_is_a_failure():
    with MuduoServer(FILES) as server, open("/dev/full", "w", encoding="ascii") as full:
        code, _, errors = peal_rpc("list", server.address(), stdout=full)
    assert (code, errors) == (FAILED, "peal: the answer could not be written to stdout\n")
