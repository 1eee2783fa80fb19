# SPDX-License-Identifier: BSD-3-Clause
"""The comparison of the concurrency models: what is run, how it is judged, what is advised."""
