// SPDX-License-Identifier: BSD-3-Clause
// Sudoku, model 1 of 5: one loop reads, solves and answers. `sudoku_one_loop [ADDRESS]`. No data is shared between
// threads, and the answers keep the order of the requests. But one hard puzzle delays all clients.
#include <examples/sudoku/sudoku_service.h>

int main(int argc, char** argv) {
  using namespace peal::examples;
  return serve(argc, argv, kSudokuAddress, sudoku_on_the_loop());
}
