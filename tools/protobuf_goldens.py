#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the frames in tests/goldens/protobuf: messages in the formats of peal/protobuf, made by Python's own protobuf
and zlib, which share no code with peal.

A line of frames.txt is: format, tag, type, message as protobuf's text format, frame in hexadecimal; with tabs between.
Large frames are `large` lines: format, tag, size of the payload, size of the frame, CRC-32 of the frame. Their message
is a Payload whose byte i is (31 * i + i // 256) % 256. peal/protobuf/codec/message_golden_test.cc makes the same and
compares.

A line of rpc_frames.txt is: fields of the RpcMessage as protobuf's text format, type of the message that it carries,
that message as text, frame in hexadecimal. A `large` line is: fields, size of the payload, size of the frame, CRC-32 of
the frame. A message is carried as `response` if the type is RESPONSE, else as `request`.
peal/protobuf/codec/rpc_golden_test.cc compares.

  tools/protobuf_goldens.py      needs python3-protobuf and protobuf-compiler
"""
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from google.protobuf import symbol_database, text_format

ROOT = Path(__file__).resolve().parent.parent
PROTOS = "tests/protobuf"
GOLDENS = ROOT / "tests" / "goldens" / "protobuf"
FORMATS = [("named", ""), ("tagged", "RPC0"), ("tagged", ""), ("delimited", "")]
MESSAGES = [
    ("peal.test.Query", 'id: 1 questioner: "Chen Shuo" question: "Running?"'),
    ("peal.test.Query", 'id: -9223372036854775808 questioner: ""'),
    ("peal.test.Query", 'id: 300 questioner: "q" question: "" question: "a" question: "\\"\\t\\\\"'),
    ("peal.test.Reply", "id: 7 earlier { id: 6 earlier { id: 5 solution: \"42\" } }"),
    ("peal.test.Nothing", ""),
    ("peal.test.Note", ""),
    ("peal.test.Note", 'text: "\\303\\244\\346\\274\\242\\360\\237\\224\\224" payload: "\\000\\377\\r\\n"'),
    ("peal.test.Note", "numbers: [0, -1, 1, -2147483648, 2147483647, 64, -65]"),
    ("peal.test.Note", 'notes { text: "one" notes { } } notes { payload: "two" } notes { }'),
    ("peal.test.Payload", 'payload: "hello\\n"'),
    ("peal.test.Payload", f'payload: "{"x" * 124}"'),
    ("peal.test.Payload", f'payload: "{"x" * 126}"'),
    ("peal.test.Payload", f'payload: "{"y" * 300}"'),
]
LARGE_BYTES = [16_380, 20_400, 20_445, 20_446, 20_447, 20_448, 20_460, 20_470, 20_480, 20_500, 41_000, 65_536, 300_000]
ERROR_CODES = ["NO_ERROR", "WRONG_PROTO", "NO_SERVICE", "NO_METHOD", "INVALID_REQUEST", "INVALID_RESPONSE", "TIMEOUT"]
NO_MESSAGE = ("", "")
QUERY_TEXT = 'id: 1 questioner: "q"'
ECHO = 'service: "peal.test.EchoService" method: "Echo"'
RPC_MESSAGES = [
    (f"type: REQUEST id: 1 {ECHO}", ("peal.test.Payload", 'payload: "hello\\n"')),
    (f"type: REQUEST id: 2 {ECHO} deadline: 200", ("peal.test.Payload", 'payload: "hello\\n"')),
    (f"type: REQUEST id: 3 {ECHO}", ("peal.test.Nothing", "")),
    (f"type: REQUEST id: 4 {ECHO} deadline: 0", ("peal.test.Nothing", "")),
    (f"type: REQUEST id: 18446744073709551615 {ECHO} deadline: 4294967295", ("peal.test.Query", QUERY_TEXT)),
    ('type: REQUEST id: 0 service: "" method: ""', ("peal.test.Nothing", "")),
    (f'type: REQUEST id: 5 service: "{"s" * 127}" method: "m" deadline: 127', ("peal.test.Payload", 'payload: "x"')),
    (f'type: REQUEST id: 6 service: "s" method: "{"m" * 300}" deadline: 128', ("peal.test.Payload", 'payload: "x"')),
    (f"type: REQUEST id: 7 {ECHO} deadline: 60000", ("peal.test.Payload", f'payload: "{"x" * 300}"')),
    ("type: RESPONSE id: 1", ("peal.test.Payload", 'payload: "hello\\n"')),
    ("type: RESPONSE id: 3", ("peal.test.Nothing", "")),
    ("type: RESPONSE id: 18446744073709551615", ("peal.test.Reply", 'id: -1 earlier { id: 5 solution: "42" }')),
    ("type: RESPONSE id: 7", ("peal.test.Payload", f'payload: "{"x" * 300}"')),
    *((f"type: RESPONSE id: {8 + i} error: {code}", NO_MESSAGE) for i, code in enumerate(ERROR_CODES)),
    ("type: ERROR id: 1", NO_MESSAGE),
    ("type: ERROR id: 1234605616436508552", NO_MESSAGE),
]
LARGE_RPC_HEADS = [f"type: REQUEST id: 9 {ECHO}", f"type: REQUEST id: 9 {ECHO} deadline: 250", "type: RESPONSE id: 9"]
LARGE_RPC_BYTES = [16_380, 20_390, 20_400, *range(20_410, 20_460), 20_480, 41_000, 300_000]


def frame(kind, tag, message):
    """The bytes that a peer sends."""
    data = message.SerializeToString(deterministic=True)
    if kind == "delimited":
        return varint(len(data)) + data
    if kind == "tagged":
        return framed(tag.encode() + data)
    name = message.DESCRIPTOR.full_name.encode() + b"\0"
    return framed(struct.pack(">i", len(name)) + name + data)


def framed(counted):
    body = counted + struct.pack(">I", zlib.adler32(counted))
    return struct.pack(">i", len(body)) + body


def rpc_frame(types, fields, payload):
    """The frame of an RpcMessage that carries a message, or none."""
    envelope = text_format.Parse(fields, types.GetSymbol("peal.test.RpcMessage")())
    if payload is not None:
        data = payload.SerializeToString(deterministic=True)
        if envelope.type == envelope.RESPONSE:
            envelope.response = data
        else:
            envelope.request = data
    return frame("tagged", "RPC0", envelope)


def varint(number):
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(digits) + bytes([number])


def pattern(size):
    return bytes((31 * i + i // 256) % 256 for i in range(size))


def lines(types):
    for name, text in MESSAGES:
        message = text_format.Parse(text, types.GetSymbol(name)())
        for kind, tag in FORMATS:
            yield "\t".join([kind, tag, name, text, frame(kind, tag, message).hex()])
    for size in LARGE_BYTES:
        message = types.GetSymbol("peal.test.Payload")(payload=pattern(size))
        for kind, tag in FORMATS:
            bytes_of_it = frame(kind, tag, message)
            yield "\t".join(["large", kind, tag, str(size), str(len(bytes_of_it)), str(zlib.crc32(bytes_of_it))])


def rpc_lines(types):
    for fields, (name, text) in RPC_MESSAGES:
        payload = text_format.Parse(text, types.GetSymbol(name)()) if name else None
        yield "\t".join([fields, name, text, rpc_frame(types, fields, payload).hex()])
    for fields in LARGE_RPC_HEADS:
        for size in LARGE_RPC_BYTES:
            payload = types.GetSymbol("peal.test.Payload")(payload=pattern(size))
            bytes_of_it = rpc_frame(types, fields, payload)
            yield "\t".join(["large", fields, str(size), str(len(bytes_of_it)), str(zlib.crc32(bytes_of_it))])


def write(name, made):
    head = "# Made by tools/protobuf_goldens.py with Python's protobuf and zlib.\n"
    (GOLDENS / name).write_text(head + "\n".join(made) + "\n", encoding="utf-8")
    print(f"{len(made)} frames in {(GOLDENS / name).relative_to(ROOT)}")


def main():
    protos = sorted(str(path.relative_to(ROOT)) for path in (ROOT / PROTOS).glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["protoc", "-I.", f"--python_out={folder}", *protos], cwd=ROOT, check=True)
        sys.path.insert(0, folder)
        for proto in protos:
            __import__(proto.replace(".proto", "_pb2").replace("/", "."))
        types = symbol_database.Default()
        GOLDENS.mkdir(parents=True, exist_ok=True)
        write("frames.txt", list(lines(types)))
        write("rpc_frames.txt", list(rpc_lines(types)))


if __name__ == "__main__":
    main()
