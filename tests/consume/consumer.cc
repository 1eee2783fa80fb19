// SPDX-License-Identifier: BSD-3-Clause
// What a user's first program does with an installed peal: public headers, a compiled function, the log.
#include <peal/base/buffer.h>
#include <peal/base/log.h>
#include <peal/base/result.h>

int main() {
  const peal::Result<int> nothing = peal::fail(ENOENT);
  peal::Buffer greeting("from an installed peal");
  PEAL_LOG_WARN("{}: {}", greeting.view(), nothing.error().message());
  return nothing.has_value() ? 1 : 0;
}
