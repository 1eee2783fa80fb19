// SPDX-License-Identifier: BSD-3-Clause
// The parts that the five sudoku servers share.
#pragma once

#include <examples/shared/service.h>
#include <examples/sudoku/sudoku.h>

#include <peal/net/messages.h>

namespace peal::examples {

inline constexpr std::string_view kSudokuAddress = "127.0.0.1:9984";

// Answers BadRequest to a line that is longer than kSudokuLines allows. Pass this function as the argument `on_bad` to
// peal::messages(), which calls the function and closes the connection afterwards.
inline void answer_too_long_sudoku(Connection& connection, Trouble) { connection.send(kBadSudoku); }

// Returns callbacks that solve each puzzle on the loop of its connection.
inline SharedConnectionCallbacks sudoku_on_the_loop() {
  auto on_line = [](Connection& connection, std::string_view line) {
    const std::optional<std::string> answer = answer_sudoku(line);
    connection.send(answer ? *answer : kBadSudoku);
    if (!answer) connection.refuse(Trouble::kBadMessage);
  };
  return {.on_message = messages(kSudokuLines, on_line, answer_too_long_sudoku)};
}

}  // namespace peal::examples
