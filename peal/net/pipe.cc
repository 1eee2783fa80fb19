// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/pipe.h>

#include <cerrno>

#include <peal/net/parts/connection_set.h>
#include <peal/net/parts/pipe_pair.h>

namespace peal {

Result<void> pipe(Connection& a, Connection& b, const PipeOptions& options, Callback<void(PipeReport)> on_done) {
  PEAL_ASSERT(&a != &b, "a connection is piped to itself");
  if (&a.loop() != &b.loop()) return fail(EXDEV);
  return detail::PipePair::join(a, b, options, std::move(on_done));
}

}  // namespace peal
