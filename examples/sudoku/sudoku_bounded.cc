// SPDX-License-Identifier: BSD-3-Clause
// Sudoku, model 5 of 5: several loops read and write, and a pool of threads solves. No loop waits for the pool: if the
// queue of the pool is full, the answer ServerTooBusy is sent immediately. A client that does not read its answers is
// disconnected. `sudoku_bounded [ADDRESS [LOOPS [THREADS [QUEUE]]]]`. Use this model on a public network.
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
