// SPDX-License-Identifier: BSD-3-Clause
// Sudoku, model 3 of 5: one loop reads and writes, and a pool of threads solves. `sudoku_pool [ADDRESS [THREADS]]`. A
// hard puzzle delays no other client if another thread is free. If the queue of the pool is full, the loop waits for
// the pool. All clients then wait too (backpressure).
#include <examples/sudoku/sudoku_on_pool.h>

int main(int argc, char** argv) {
  using namespace peal::examples;
  auto pool = peal::ThreadPool::start({.name = "solve", .threads = thread_argument(argc, argv, 2)});
  if (!pool) return failed("cannot start the pool", pool.error());
  return serve(argc, argv, kSudokuAddress, sudoku_on_pool(**pool));
}
