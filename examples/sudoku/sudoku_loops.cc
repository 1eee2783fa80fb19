// SPDX-License-Identifier: BSD-3-Clause
// Sudoku, model 2 of 5: several loops, and each solves the puzzles of its own connections.
// `sudoku_loops [ADDRESS [THREADS]]`. The loops use all cores if there are enough connections. A hard puzzle delays
// only the clients of one loop.
#include <cstdlib>

#include <examples/sudoku/sudoku_service.h>

int main(int argc, char** argv) {
  using namespace peal::examples;
  const int threads = std::max(1, std::atoi(argument(argc, argv, 2, "2").c_str()));
  return serve_on_threads(static_cast<size_t>(threads), argument(argc, argv, 1, kSudokuAddress), sudoku_on_the_loop());
}
