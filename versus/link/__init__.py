# SPDX-License-Identifier: BSD-3-Clause
"""Who needs less CPU at a full link: servers on another machine, the network between the two the limit."""
