// SPDX-License-Identifier: BSD-3-Clause
module contenders/http_go

go 1.19
