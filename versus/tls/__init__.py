# SPDX-License-Identifier: BSD-3-Clause
"""TLS: its cells and experiments, the certificate all its contenders serve with, and what exact counts share."""
