#!/usr/bin/python3 -IS
# SPDX-License-Identifier: BSD-3-Clause
"""Runs nginx, which answers from its configuration alone: N single-threaded workers, each with its own listener.

Writes the configuration into a temporary folder and then becomes nginx (exec), so this process is nginx's master.
SIGTERM ends it with exit code 0, and its children are the workers. Before that it forks a child, which prints the
address once nginx listens and deletes the folder. With a certificate nginx speaks TLS with the settings of
common/contender_tls.h: the client's cipher, X25519 first, one session ticket.
"""
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time

START_LIMIT_S = 60.0
MOST_THREADS = 256
BACKLOG = 4096
MOST_CONNECTIONS = 16384  # per worker; each connection costs memory from the start
OTHER_FDS = 64

CONFIGURATION = """
daemon off;
{user}
worker_processes {threads};
pid {folder}/pid;
error_log stderr emerg;
events {{
  use epoll;
  worker_connections {connections};
  multi_accept on;
}}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  server_tokens off;
  default_type text/plain;
  keepalive_requests 2000000000;
  keepalive_timeout 1h;
  keepalive_time 24h;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen {host}:{port} reuseport backlog={backlog}{tls};
    location = / {{ return 200 "Hello, World!"; }}
    location = /collect {{ return 200 "Hello, World!"; }}
    location / {{ {other} }}
  }}
}}
"""
TLS = """ ssl;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_ecdh_curve X25519:prime256v1:secp384r1;
    ssl_prefer_server_ciphers off;
    ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256;
    ssl_conf_command NumTickets 1;
    ssl_session_cache off"""


def usage():
    print("usage: http_nginx --listen IPV4:PORT [--threads N] [--root FOLDER] [--under COMMAND] "
          "[--tls-cert FILE --tls-key FILE]\n"
          "Serves until SIGTERM. With --root it also serves the files of that folder. --under runs nginx under a "
          "command such as 'valgrind --tool=callgrind'.\n"
          "Port 0 picks a free port. The address is printed when the server listens.\n"
          "example: http_nginx --listen 127.0.0.1:9981 --threads 2", file=sys.stderr)
    sys.exit(2)


def options(words):
    """Returns host, port, threads, what other paths answer, the words of the command to run under, and the TLS
    options."""
    values = {"--listen": "", "--threads": "1", "--root": "", "--under": "", "--tls-cert": "", "--tls-key": ""}
    if len(words) % 2 or any(word not in values for word in words[::2]):
        usage()
    values.update(zip(words[::2], words[1::2]))
    host, _, port = values["--listen"].rpartition(":")
    try:
        socket.inet_aton(host)
        port, threads = int(port), int(values["--threads"])
    except (OSError, ValueError):
        usage()
    if not 0 <= port < 65536 or not 1 <= threads <= MOST_THREADS:
        usage()
    root, certificate, key = (values[name] for name in ("--root", "--tls-cert", "--tls-key"))
    if (root and not os.path.isdir(root)) or set(root + certificate + key) & set(" ;{}\"'$"):
        usage()
    if bool(certificate) != bool(key):
        usage()
    tls = TLS.format(certificate=os.path.abspath(certificate), key=os.path.abspath(key)) if key else ""
    other = f"root {os.path.abspath(root)};" if root else "return 404;"
    return host, port, threads, other, values["--under"].split(), tls


def hold(host, port):
    """Returns a bound socket that holds the port until nginx listens on it. This socket never listens.

    If the port is chosen by the kernel, the socket has no SO_REUSEADDR. With it, the next process that asks for a free
    port could get the same one.
    """
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(port != 0))
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind((host, port))
    return holder


def announce(host, port, folder, master):
    """Waits until nginx listens and has written its pid, prints the address, and deletes the temporary folder."""
    # A signal to nginx's process group must not end this child before the folder is deleted.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and os.getppid() == master:
        try:
            os.stat(f"{folder}/pid")
            socket.create_connection((host, port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.002)
    else:
        host = ""
    shutil.rmtree(folder, ignore_errors=True)
    if host:
        print(f"listening on {host}:{port}", flush=True)


def main():
    host, port, threads, other, under, tls = options(sys.argv[1:])
    nginx = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if not nginx:
        sys.exit("http_nginx: nginx is not installed")
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        holder = hold(host, port)
    except OSError as error:
        sys.exit(f"http_nginx: bind: {error.strerror}")
    port = holder.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="http-nginx-")
    user = "" if os.geteuid() else "user root;"
    connections = min(MOST_CONNECTIONS, hard - OTHER_FDS)
    with open(f"{folder}/nginx.conf", "w", encoding="utf-8") as file:
        file.write(CONFIGURATION.format(folder=folder, host=host, port=port, threads=threads, backlog=BACKLOG,
                                        connections=connections, user=user, other=other, tls=tls))
    master = os.getpid()
    if os.fork() == 0:
        announce(host, port, folder, master)
        os._exit(0)
    words = [*under, nginx, "-e", "stderr", "-p", folder, "-c", f"{folder}/nginx.conf"]
    os.execvp(words[0], words)


if __name__ == "__main__":
    main()
