// SPDX-License-Identifier: BSD-3-Clause
// Sudoku solved on a pool's threads: the loop reads and writes only. Answers of one connection may overtake each other;
// the ids tell them apart. Which loops read, and what happens when the pool is full, is the server's choice.
#pragma once

#include <cstdlib>

#include <examples/sudoku/sudoku_service.h>

#include <peal/base/thread/thread_pool.h>

namespace peal::examples {

inline constexpr std::string_view kTooBusy = "ServerTooBusy\r\n";

// Whether the line was a request; it is solved later, or refused by the full pool with kTooBusy.
inline bool submit_sudoku(ThreadPool& pool, Connection& connection, std::string line) {
  const bool taken = pool.submit([handle = connection.handle(), line = std::move(line)] {
    const std::optional<std::string> answer = answer_sudoku(line);
    handle.send(answer ? *answer : std::string(kBadSudoku));
    if (!answer) handle.close();
  });
  if (!taken) connection.send(kTooBusy);
  return true;
}

inline SharedConnectionCallbacks sudoku_on_pool(ThreadPool& pool) {
  return {.on_message = [&pool](Connection& connection, Buffer& input) {
    take_sudoku_requests(connection, input,
                         [&](const std::string& line) { return submit_sudoku(pool, connection, line); });
  }};
}

// argv[index] as a number of threads; at least one.
inline unsigned thread_argument(int argc, char** argv, int index) {
  return static_cast<unsigned>(std::max(1, std::atoi(argument(argc, argv, index, "2").c_str())));
}

}  // namespace peal::examples
