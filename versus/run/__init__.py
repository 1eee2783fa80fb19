# SPDX-License-Identifier: BSD-3-Clause
"""Running: processes and their CPU, one cell after the other in a shuffled order, what is kept of them."""
