# SPDX-License-Identifier: BSD-3-Clause
"""The comparison harness: contenders, experiments as data, statistics, the report.

Start reading at experiments.py (what is compared), then campaign.py (in which order), then stats.py (what may be said).
"""
