# SPDX-License-Identifier: BSD-3-Clause
"""Running: starts processes, measures their CPU, runs cells in shuffled order, and stores the results."""
