// SPDX-License-Identifier: BSD-3-Clause
// A user's first program with an installed peal. It uses public headers, a compiled function, the log and a stack
// trace. The package files name libbacktrace without its path, so the linker must find it.
#include <peal/base/exception.h>
#include <peal/base/log.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>

int main() {
  const peal::Result<int> nothing = peal::fail(ENOENT);
  peal::Buffer greeting("from an installed peal");
  PEAL_LOG_WARN("{}: {}", greeting.view(), nothing.error().message());
  const bool traced = peal::Exception("here").stack_trace().starts_with("#0 main");
  return traced && !nothing.has_value() ? 0 : 1;
}
