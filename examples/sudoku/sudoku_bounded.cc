// SPDX-License-Identifier: BSD-3-Clause
// Sudoku, model 5 of 5: as model 4, but nothing waits for the pool: a full queue answers ServerTooBusy at once, and a
// client that does not read its answers is cut off. `sudoku_bounded [ADDRESS [LOOPS [THREADS [QUEUE]]]]`. The one to
// put on a network.
#include <examples/sudoku/sudoku_on_pool.h>

int main(int argc, char** argv) {
  using namespace peal::examples;
  const int queue = std::max(1, std::atoi(argument(argc, argv, 4, "1000").c_str()));
  auto pool = peal::ThreadPool::start({.name = "solve",
                                       .threads = thread_argument(argc, argv, 3),
                                       .queue_capacity = static_cast<size_t>(queue),
                                       .when_full = peal::WhenFull::kRefuse});
  if (!pool) return failed("cannot start the pool", pool.error());
  peal::ServerOptions options;
  options.connection.output_limit_bytes = 1024 * 1024;
  return serve_on_threads(thread_argument(argc, argv, 2), argument(argc, argv, 1, kSudokuAddress),
                          sudoku_on_pool(**pool), options);
}
