# SPDX-License-Identifier: BSD-3-Clause
"""Each published finding of the five experiments held against a run, and the document that tells how they stand."""

from versus.findings.judging import AT_BOUND, CONFIRMED, NOT_HERE, REFUTED, VERDICTS

__all__ = ["AT_BOUND", "CONFIRMED", "NOT_HERE", "REFUTED", "VERDICTS"]
