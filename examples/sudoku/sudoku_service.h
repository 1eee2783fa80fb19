// SPDX-License-Identifier: BSD-3-Clause
// What the five sudoku servers share: taking requests out of the input, and the options every one of them sets.
#pragma once

#include <examples/shared/service.h>
#include <examples/sudoku/sudoku.h>

namespace peal::examples {

inline constexpr std::string_view kSudokuAddress = "127.0.0.1:9984";

inline ServerOptions sudoku_options() {
  ServerOptions options;
  options.connection.input_limit_bytes = 64 * 1024;  // many short requests in a row; a line without an end is cut off
  return options;
}

// Calls `answer(line)` for each request line; closes the connection after a line that is none, for which it answers
// false.
template <class Answer>
void take_sudoku_requests(Connection& connection, Buffer& input, Answer&& answer) {
  while (connection.is_open()) {
    const std::optional<std::string> line = next_sudoku_line(input);
    if (line && line->size() <= kMostSudokuRequestBytes && answer(*line)) continue;
    if (!line && input.size() <= kMostSudokuRequestBytes) return;
    connection.send(kBadSudoku);
    connection.close();
  }
}

// Solves where it stands: on the connection's loop.
inline SharedConnectionCallbacks sudoku_on_the_loop() {
  return {.on_message = [](Connection& connection, Buffer& input) {
    take_sudoku_requests(connection, input, [&](const std::string& line) {
      const std::optional<std::string> answer = answer_sudoku(line);
      if (answer) connection.send(*answer);
      return answer.has_value();
    });
  }};
}

}  // namespace peal::examples
