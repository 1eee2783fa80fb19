// SPDX-License-Identifier: BSD-3-Clause
// Sudoku solved on a pool's threads: the loop reads and writes only. Answers of one connection may overtake each other;
// the ids tell them apart. Which loops read, and what happens when the pool is full, is the server's choice.
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

// argv[index] as a number of threads; at least one.
inline unsigned thread_argument(int argc, char** argv, int index) {
  return static_cast<unsigned>(std::max(1, std::atoi(argument(argc, argv, index, "2").c_str())));
}

}  // namespace peal::examples
