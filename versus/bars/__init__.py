# SPDX-License-Identifier: BSD-3-Clause
"""The bars: each module measures one figure of peal and prints it beside its bar, the limit that it must meet."""
