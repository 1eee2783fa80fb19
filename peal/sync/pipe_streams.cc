// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sync/pipe_streams.h>

#include <cerrno>

#include <peal/sync/callback_await.h>

namespace peal {

Task<Result<PipeReport>> pipe(Stream& a, Stream& b, PipeOptions options) {
  Result<void> joined;
  auto start = [&](Completion<PipeReport> done) { joined = a.pipe_to(b, options, std::move(done)); };
  auto end_both = [&] {
    a.abort();
    b.abort();
  };
  Result<PipeReport> report = co_await callback_await<PipeReport>(start, end_both);
  if (!joined) co_return std::unexpected(joined.error());
  if (!report && report.error() == errno_code(EOWNERDEAD)) co_return fail(ESHUTDOWN);
  co_return report;
}

}  // namespace peal
