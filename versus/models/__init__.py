# SPDX-License-Identifier: BSD-3-Clause
"""The comparison of the concurrency models: what runs, how it is judged, and which model to choose when."""
