# SPDX-License-Identifier: BSD-3-Clause
"""Requests of every kind, and what llhttp (through the public Python package `httptools`) makes of them.

The corpus follows from one seed. tests/goldens/http/requests.txt has a line for each: llhttp's verdict, how many
requests it completed, a CRC-32 of what it saw, and the bytes. peal/wire/http/http_request_golden_test.cc reads the same
bytes and compares. Escapes: \\n is CR LF, \\r and \\l are CR and LF alone, \\xNN any other byte.
"""
import random
import zlib

SEED = 20261122
REQUESTS = 3000

# What may be odd about a request; most have one oddity, since a second one would hardly be seen.
THEMES = (["none"] * 4 + ["method", "target", "target", "version", "host", "field", "field", "end", "end", "length",
           "length", "coding", "coding", "both", "chunk", "chunk", "size", "size", "mutant", "mutant", "two",
           "start"])
METHODS = ["HEAD", "OPTIONS", "DELETE", "PATCH", "TRACE", "CONNECT", "get", "FOO", "M-SEARCH", "G(T", "", "GET\t",
           "X" * 33]
TARGETS = ["/a/b?c=d", "/%41", "/?", "//x", "/a#b", "/a b", "/\x80", "/\t", "*", "http://h/p?q", "http://h",
           "https://[::1]:8/", "http://u@h/", "ftp://h/", "h:80", "h", "?", "", "/\x7f", "/a\x00b", "/|{}\"<>",
           "/" + "x" * 40]
VERSIONS = ["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.2", "HTTP/1.10", "http/1.1", "HTTP/1.", "", "HTTP/1.1 ",
            " HTTP/1.1", "XTTP/1.1", "ICE/1.0", "HTTP/11"]
HOSTS = ["host:h:80", "HOST: [::1]:1", "Host:", "Host: a b", "Host: h:x", "Host: u@h", "Host: h/p",
         "Host: h\r\nHost: h", "A: b"]
FIELDS = ["A: b", "Accept: */*", "X-1_~!: c\td", "E:", "E: \t ", "O: \x80\xff", "Connection: keep-alive",
          "Connection: close", "Connection: x, close", "Connection: Keep-Alive, x", "Cookie: " + "c" * 40,
          "N" * 35 + ": v", "Expect: 100-continue", "Upgrade: h2c"]
ODD_FIELDS = ["A : b", " A: b", "\tA: b", "A", ": b", "A B: c", "A: b\rc", "A: b\x00c", "A\x00: b", "A: \x07",
              "A: \x7f", "(A): b", "\x80: b", "A: b\n c", "A: b\r\n c", "A: b\r\n\tc", "A: b\r", "A:b\n",
              "Expect: x", "Connection: upgrade\r\nUpgrade: w"]
LENGTHS = ["5", "5", "0", "+5", "-5", "5 ", "0x5", "5,5", "5, 5", "", "a", "5 5", "18446744073709551615",
           "18446744073709551616", "\v5", "05", "5\r\nContent-Length: 5", "5\r\nContent-Length: 6", "4", "6"]
CODINGS = ["Chunked", "gzip, chunked", "chunked, gzip", "gzip", "identity", "chunked, chunked", "", "xchunked",
           "chunked;a=b", ", chunked", "chunked,", "chunked\r\nTransfer-Encoding: gzip",
           "gzip\r\nTransfer-Encoding: chunked", "\vchunked"]
SIZES = ["005", "5;a", "5;a=b", "5;a=\"b;c\"", "5 ", "5 ;a", "5;", "5;a=", "0x5", "+5", "g", "", " 5", "5\t",
         "5;\x00", "5;a\xff", "10000000000000005", "5;a=\"\\\"\"", "5;=b", "5;a b", "4", "6", "5;a=b;c", "5; a"]
ENDS = ["\n", "\r", "\r\r\n", "\n\r", "\r\n\r\n", ""]
SPICE = "\r\n:;, \t059afA\x00\x7f\x80HCT-/?#"


def one(source, theme):
    """A request that is right but for its theme."""
    def pick(of, choices, usual):
        return source.choice(choices) if theme == of else usual

    has_length = theme == "length" or (theme in ("both", "none", "end", "mutant") and source.random() < 0.3)
    has_chunks = theme in ("coding", "both", "chunk", "size") or (not has_length and source.random() < 0.2)
    usual_method = "POST" if has_length or has_chunks else "GET"
    lines = [" ".join([pick("method", METHODS, usual_method), pick("target", TARGETS, "/"),
                       "HTTP/1.0" if source.random() < 0.08 else pick("version", VERSIONS, "HTTP/1.1")])]
    lines += [pick("host", HOSTS, "Host: h")] + [source.choice(FIELDS) for _ in range(source.choice([0, 0, 1, 2]))]
    if theme == "field":
        lines.insert(source.randint(1, len(lines)), source.choice(ODD_FIELDS))
    if has_length:
        lines.append("Content-Length: " + pick("length", LENGTHS, "5"))
    if has_chunks:
        lines.insert(source.randint(1, len(lines)), "Transfer-Encoding: " + pick("coding", CODINGS, "chunked"))
    lines.append("")
    odd_end = source.randrange(len(lines)) if theme == "end" else -1
    text = pick("start", ["\r\n", "\n", "\r\n\r\n", " ", "\r", "\r\n\r\n\r\n"], "")
    text += "".join(line + (source.choice(ENDS) if at == odd_end else "\r\n") for at, line in enumerate(lines))
    if not has_chunks:
        return text + ("hello" if has_length else "")
    parts = [pick("size", SIZES, "5"), "hello", "0"] + source.choice([[], ["T: t"], pick("chunk",
             [[o] for o in ODD_FIELDS], [])])
    odd_end = source.randrange(len(parts) + 1) if theme == "chunk" else -1
    return text + "".join(part + (source.choice(ENDS) if at == odd_end else "\r\n") for at,
    part in enumerate(parts + [""]))


def mutate(source, text):
    for _ in range(source.choice([1, 1, 2])):
        if not text:
            break
        at = source.randrange(len(text))
        kind = source.randrange(4)
        if kind == 0:
            text = text[:at] + source.choice(SPICE) + text[at + 1:]
        elif kind == 1:
            text = text[:at] + source.choice(SPICE) + text[at:]
        elif kind == 2:
            text = text[:at] + text[at + source.randint(1, 3):]
        else:
            text = text[:at]
    return text


def corpus():
    source = random.Random(SEED)
    seen = set()
    while len(seen) < REQUESTS:
        theme = source.choice(THEMES)
        text = one(source, theme)
        if theme == "two":
            text += one(source, source.choice(THEMES))
        if theme == "mutant":
            text = mutate(source, text)
        data = text.encode("latin-1")
        if data and data not in seen:
            seen.add(data)
            yield data


def escaped(data):
    def one_byte(byte):
        short = {10: "\\l", 13: "\\r", 92: "\\\\"}.get(byte)
        return short or (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}")
    return "".join(map(one_byte, data)).replace("\\r\\l", "\\n")


class Seen:
    """Notes what llhttp reports until the first request that ends its connection or takes it over."""

    def __init__(self):
        self.parser = None
        self.text = b""
        self.messages = 0
        self.over = None
        self.open = False

    def on_message_begin(self):
        self.target, self.fields, self.has_head, self.open = b"", [], False, True

    def on_url(self, url):
        self.target += url

    def on_header(self, name, value):
        line = name + b":" + value.rstrip(b" \t") + b"\n"  # which llhttp leaves to its users
        if self.has_head:
            self.text += b"" if self.over else b"trailer " + line
        else:
            self.fields.append(line)

    def on_headers_complete(self):
        if self.over:
            return
        self.has_head = True
        self.keeps = self.parser.should_keep_alive()
        self.text += b"%s %s %s %s\n" % (self.parser.get_method(), self.target,
        self.parser.get_http_version().encode(),
                                       b"keep" if self.keeps else b"close")
        self.text += b"".join(self.fields)

    def on_body(self, body):
        self.text += b"" if self.over else body

    def on_message_complete(self):
        if self.over:
            return
        self.text += b"\nend\n"
        self.open = False
        self.messages += 1
        if not self.keeps:
            self.over = "closed"


def llhttp(data):
    """Verdict, number of requests and CRC-32 of what was seen."""
    import httptools
    seen = Seen()
    seen.parser = httptools.HttpRequestParser(seen)
    try:
        seen.parser.feed_data(data)
        verdict = "more" if seen.open else "ok"
    except httptools.HttpParserUpgrade:
        verdict = "upgrade"
    except httptools.HttpParserError as error:
        verdict = str(error).replace(" ", "_")
    return seen.over or verdict, seen.messages, zlib.crc32(seen.text), seen.text


def write(path):
    """Returns how many lines it has written."""
    lines, errors = [], {}
    for data in corpus():
        verdict, messages, crc, _ = llhttp(data)
        if verdict not in ("ok", "more", "closed", "upgrade"):
            verdict = "e" + str(errors.setdefault(verdict, len(errors)))
        lines.append(f"{verdict} {messages} {crc:08x} {escaped(data)}")
    head = ["# Made by tools/make_goldens.py with httptools.",
            "# A line: verdict, requests completed, CRC-32 of what was seen, bytes."]
    head += [f"# e{number}: {error.replace('_', ' ')}" for error, number in errors.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(head + lines) + "\n")
    return len(lines)
