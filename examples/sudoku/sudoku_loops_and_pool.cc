// SPDX-License-Identifier: BSD-3-Clause
// Sudoku, model 4 of 5: several loops read and write, and a pool of threads solves.
// `sudoku_loops_and_pool [ADDRESS [LOOPS [THREADS]]]`. Use this model for many connections with much work.
#include <examples/sudoku/sudoku_on_pool.h>

int main(int argc, char** argv) {
  using namespace peal::examples;
  auto pool = peal::ThreadPool::start({.name = "solve", .threads = thread_argument(argc, argv, 3)});
  if (!pool) return failed("cannot start the pool", pool.error());
  return serve_on_threads(thread_argument(argc, argv, 2), argument(argc, argv, 1, kSudokuAddress),
                          sudoku_on_pool(**pool));
}
