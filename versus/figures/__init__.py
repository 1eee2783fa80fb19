# SPDX-License-Identifier: BSD-3-Clause
"""The figures that the documents show: recorded by a run, written by a program, marked once the code has changed."""
