// SPDX-License-Identifier: BSD-3-Clause
// What the five sudoku servers share.
#pragma once

#include <examples/shared/service.h>
#include <examples/sudoku/sudoku.h>

#include <peal/net/messages.h>

namespace peal::examples {

inline constexpr std::string_view kSudokuAddress = "127.0.0.1:9984";

// The on_bad of a server that reads kSudokuLines.
inline void answer_too_long_sudoku(Connection& connection, Trouble) { connection.send(kBadSudoku); }

// Solves where it stands: on the connection's loop.
inline SharedConnectionCallbacks sudoku_on_the_loop() {
  auto on_line = [](Connection& connection, std::string_view line) {
    const std::optional<std::string> answer = answer_sudoku(line);
    connection.send(answer ? *answer : kBadSudoku);
    if (!answer) connection.refuse(Trouble::kBadMessage);
  };
  return {.on_message = messages(kSudokuLines, on_line, answer_too_long_sudoku)};
}

}  // namespace peal::examples
