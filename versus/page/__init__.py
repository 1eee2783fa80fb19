# SPDX-License-Identifier: BSD-3-Clause
"""The report pages: templates, figures, verdicts, and the browser that opens them in tests."""
