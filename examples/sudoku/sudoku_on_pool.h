// SPDX-License-Identifier: BSD-3-Clause
// Solves sudokus on the threads of a pool, while the loop only reads and writes. The answers of one connection may come
// in another order than the requests, so each answer repeats the id of its request. Each server program chooses the
// loops, and what happens if the pool is full.
#pragma once

#include <cstdlib>

#include <examples/sudoku/sudoku_service.h>

#include <peal/base/thread/thread_pool.h>

namespace peal::examples {

inline constexpr std::string_view kTooBusy = "ServerTooBusy\r\n";

inline SharedConnectionCallbacks sudoku_on_pool(ThreadPool& pool) {
  auto on_line = [&pool](Connection& connection, std::string_view line) {
    const bool taken = pool.submit([handle = connection.handle(), line = std::string(line)] {
      const std::optional<std::string> answer = answer_sudoku(line);
      handle.send(answer ? *answer : kBadSudoku);
      if (!answer) handle.close();
    });
    if (!taken) connection.send(kTooBusy);
  };
  return {.on_message = messages(kSudokuLines, on_line, answer_too_long_sudoku)};
}

// Returns argv[index] as a number of threads. Returns 2 if the program has fewer arguments, and 1 if the argument is
// below 1 or does not begin with a number.
inline unsigned thread_argument(int argc, char** argv, int index) {
  return static_cast<unsigned>(std::max(1, std::atoi(argument(argc, argv, index, "2").c_str())));
}

}  // namespace peal::examples
