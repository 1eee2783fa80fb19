#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/goldens/protobuf/frames.txt: messages in the three formats of peal/protobuf, made by Python's own
protobuf and zlib, which share no code with peal.

A line is: format, tag, type, message as protobuf's text format, frame in hexadecimal; with tabs between. Large frames
are `large` lines: format, tag, size of the payload, size of the frame, CRC-32 of the frame. Their message is a Payload
whose byte i is (31 * i + i // 256) % 256. peal/protobuf/codec/message_golden_test.cc makes the same and compares.

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
GOLDENS = ROOT / "tests" / "goldens" / "protobuf" / "frames.txt"
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


def frame(kind, tag, message):
    """The bytes that a peer sends."""
    data = message.SerializeToString(deterministic=True)
    if kind == "delimited":
        return varint(len(data)) + data
    if kind == "named":
        name = message.DESCRIPTOR.full_name.encode() + b"\0"
        counted = struct.pack(">i", len(name)) + name + data
    else:
        counted = tag.encode() + data
    body = counted + struct.pack(">I", zlib.adler32(counted))
    return struct.pack(">i", len(body)) + body


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


def main():
    protos = sorted(str(path.relative_to(ROOT)) for path in (ROOT / PROTOS).glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["protoc", "-I.", f"--python_out={folder}", *protos], cwd=ROOT, check=True)
        sys.path.insert(0, folder)
        for proto in protos:
            __import__(proto.replace(".proto", "_pb2").replace("/", "."))
        made = list(lines(symbol_database.Default()))
    GOLDENS.parent.mkdir(parents=True, exist_ok=True)
    head = "# Made by tools/protobuf_goldens.py with Python's protobuf and zlib.\n"
    GOLDENS.write_text(head + "\n".join(made) + "\n", encoding="utf-8")
    print(f"{len(made)} frames in {GOLDENS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
