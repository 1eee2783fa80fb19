# SPDX-License-Identifier: BSD-3-Clause
"""Makes frames of protobuf messages, byte by byte, as muduo sends them."""
import struct
import zlib

from programs import read_exactly

REQUEST, RESPONSE, ERROR = 1, 2, 3


def framed(content):
    """Returns the content with its length and its checksum."""
    content += struct.pack(">I", zlib.adler32(content))
    return struct.pack(">I", len(content)) + content


def read_frame(peer):
    head = read_exactly(peer, 4)
    return head + read_exactly(peer, struct.unpack(">I", head)[0])


def field(number, data):
    """Returns a field of bytes. There may be at most 127."""
    return bytes([number << 3 | 2, len(data)]) + data


def rpc_frame(kind, call, *fields):
    """Returns a message of muduo's RPC. `fields` are bytes that are joined."""
    return framed(b"RPC0\x08" + bytes([kind]) + b"\x11" + struct.pack("<Q", call) + b"".join(fields))


def request(call, service, method, message):
    return rpc_frame(REQUEST, call, field(3, service), field(4, method), field(5, message))


def response(call, message):
    return rpc_frame(RESPONSE, call, field(6, message))


def error(call, number):
    return rpc_frame(RESPONSE, call, b"\x38" + bytes([number]))


def call_of(frame):
    """Returns the id of a message that begins with its type and its id."""
    return struct.unpack_from("<Q", frame, 11)[0]
