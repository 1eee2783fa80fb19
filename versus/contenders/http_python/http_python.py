#!/usr/bin/python3 -IS
# SPDX-License-Identifier: BSD-3-Clause
"""Runs Python's http.server with a thread per connection. This is not a rival: it gives the load generator a server
that other people wrote.

--threads is accepted but ignored. Tuned: one write per answer, no log.
"""
import os
import signal
import socket
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = b"Hello, World!"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # buffered, so that headers and body leave together
    disable_nagle_algorithm = True

    def version_string(self):
        return "bench"

    def do_GET(self):
        if self.path.partition("?")[0] not in ("/", "/collect"):
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)  # also sets Server and Date
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(BODY)))
        self.send_header("Connection", "close" if self.close_connection else "keep-alive")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(BODY)

    do_HEAD = do_GET

    def do_POST(self):
        self.close_connection = True
        self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)

    def log_message(self, format, *args):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 4096

    def handle_error(self, request, client_address):
        pass  # a client that has left is no error


def usage():
    print("usage: http_python --listen IPV4:PORT [--threads N]\n"
          "Serves until SIGTERM. Port 0 picks a free port. The address is printed when the server listens.\n"
          "example: http_python --listen 127.0.0.1:9981", file=sys.stderr)
    sys.exit(2)


def address(words):
    values = {"--listen": "", "--threads": "1"}
    if len(words) % 2 or any(word not in values for word in words[::2]):
        usage()
    values.update(zip(words[::2], words[1::2]))
    host, _, port = values["--listen"].rpartition(":")
    try:
        socket.inet_aton(host)
        if int(values["--threads"]) < 1:
            usage()
        return host, int(port)
    except (OSError, ValueError):
        usage()


def main():
    server = Server(address(sys.argv[1:]), Handler)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    print("listening on %s:%d" % server.server_address, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
