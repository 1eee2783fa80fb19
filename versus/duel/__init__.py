# SPDX-License-Identifier: BSD-3-Clause
"""Duels: `peal load duel` as the labs and the bars use it, and what its restarts say."""
