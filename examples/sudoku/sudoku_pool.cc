// SPDX-License-Identifier: BSD-3-Clause
// Sudoku, model 3 of 5: one loop reads and writes, a pool solves. `sudoku_pool [ADDRESS [THREADS]]`. A hard puzzle
// holds up nobody while another thread is free; when the pool's queue is full the loop waits, and with it all clients:
// that is the backpressure.
#include <examples/sudoku/sudoku_on_pool.h>

int main(int argc, char** argv) {
  using namespace peal::examples;
  auto pool = peal::ThreadPool::start({.name = "solve", .threads = thread_argument(argc, argv, 2)});
  if (!pool) return failed("cannot start the pool", pool.error());
  return serve(argc, argv, kSudokuAddress, sudoku_on_pool(**pool));
}
