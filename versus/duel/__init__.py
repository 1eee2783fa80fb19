# SPDX-License-Identifier: BSD-3-Clause
"""Duels: how the labs and the bars use `peal load duel`, and how its restarts are evaluated."""
