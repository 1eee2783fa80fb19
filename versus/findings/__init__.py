# SPDX-License-Identifier: BSD-3-Clause
"""Each published finding of the five experiments held against a run, and the document that tells how they stand."""

from versus.findings.judging import (AT_BOUND, CONFIRMED, EQUAL, FEWEST_BLOCKS, ITSELF, LEVEL, NOT_HERE, REFUTED,
                                     VERDICTS, Finding, Side, ratio, twin_differs, within)

__all__ = ["AT_BOUND", "CONFIRMED", "EQUAL", "FEWEST_BLOCKS", "ITSELF", "LEVEL", "NOT_HERE", "REFUTED", "VERDICTS",
           "Finding", "Side", "ratio", "twin_differs", "within"]
