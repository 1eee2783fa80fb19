# SPDX-License-Identifier: BSD-3-Clause
import sys

from versus.cli import main

sys.exit(main())
