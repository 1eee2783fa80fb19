# SPDX-License-Identifier: BSD-3-Clause
"""The comparison harness: contenders, experiments as data, statistics, the report.

Start reading at experiments.py (what is compared), then duel/duel_campaign.py (how it is measured), then stats.py (what
the numbers allow one to say).
"""
