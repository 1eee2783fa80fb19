# SPDX-License-Identifier: BSD-3-Clause
"""Experiment 6, TLS, as data: ping-pong of records, and HTTPS, in closed loops.

The floor of the ping-pong servers is OpenSSL on a bare epoll loop. The usual choice among web servers is nginx.
"""

from versus.experiments import Claim, Experiment
from versus.roster import HTTPS, TLS
from versus.tls.tls_cells import FULL, RESUMED, HttpsCell, TlsCell, closed

FLOOR, OURS, RING = "raw-tls", "peal-tls-epoll", "peal-tls-uring"
HTTPS_FLOOR, HTTPS_OURS, NGINX = "https-raw", "https-peal-epoll", "https-nginx"
WITHOUT_FILES = ("https-beast", "https-go", "https-hyper")

ECHO_CELLS = (
    closed(TlsCell, 64, 100), closed(TlsCell, 64, 1000), closed(TlsCell, 16384, 100), closed(TlsCell, 65536, 100),
    closed(TlsCell, 64, 100, pipeline=16),
)
DOWNLOAD = closed(HttpsCell, 16, downloads=True, without=WITHOUT_FILES)
HTTPS_CELLS = (
    closed(HttpsCell, 100), closed(HttpsCell, 100, pipeline=16), closed(HttpsCell, 8, handshakes=FULL),
    closed(HttpsCell, 8, handshakes=RESUMED), DOWNLOAD,
)

ECHO = Experiment(
    name="tls",
    title="Experiment 6: TLS, ping-pong",
    cells=ECHO_CELLS,
    claims=tuple(Claim(OURS, FLOOR, cell.name, bar=1.05) for cell in ECHO_CELLS),
    kind=TLS,
    grid=((OURS, ("*",)), ("*", (FLOOR,))),
    twin_of=OURS,
    note="TLS 1.3. All servers use the client's first cipher, X25519 and one certificate (ECDSA P-256), and send one "
         "session ticket per handshake.",
)

WEB = Experiment(
    name="https",
    title="Experiment 6: TLS, web servers",
    cells=HTTPS_CELLS,
    claims=(Claim(HTTPS_OURS, NGINX, "keep100", bar=0.75), Claim(HTTPS_OURS, NGINX, "full8"),
            Claim(HTTPS_OURS, NGINX, "resumed8"), Claim(HTTPS_OURS, HTTPS_FLOOR, DOWNLOAD.name, bar=1.05)),
    kind=HTTPS,
    unit="request",
    grid=((HTTPS_OURS, ("*",)), ("*", (HTTPS_FLOOR, NGINX))),
    twin_of=HTTPS_OURS,
    note="TLS as in the ping-pong. With a handshake per request, the client opens a connection for it and closes it.",
)

EXPERIMENTS = (ECHO, WEB)
