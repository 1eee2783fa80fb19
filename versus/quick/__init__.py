# SPDX-License-Identifier: BSD-3-Clause
"""The quick lab: one duel per cell, one family of claims, and a page that begins with the answers."""
