// SPDX-License-Identifier: BSD-3-Clause
module contenders/go_tls

go 1.19
