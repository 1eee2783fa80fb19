# SPDX-License-Identifier: BSD-3-Clause
"""The quick lab: a duel a cell, one family of claims, a page that answers first."""
