# SPDX-License-Identifier: BSD-3-Clause
"""The bars: each module measures one figure peal must reach and prints it beside the bar."""
