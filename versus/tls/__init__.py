# SPDX-License-Identifier: BSD-3-Clause
"""TLS: its cells and experiments, the certificate that all its contenders use, and the crowd of handshaking clients."""
