# SPDX-License-Identifier: BSD-3-Clause
"""The page: its template, its figures, its verdict, and the browser that looks at it in tests."""
