// SPDX-License-Identifier: BSD-3-Clause
// A sudoku solver, and the line protocol of the sudoku service. A request is `[ID:]CELLS\r\n`. CELLS are 81 digits, 0
// for an empty cell. The answers are:
// - `[ID:]CELLS\r\n` with all cells filled in
// - `[ID:]NoSolution\r\n`
// - `BadRequest\r\n`, if the line is not a request; the server then closes the connection
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <peal/wire/framing/delimiter_framing.h>

namespace peal::examples {

inline constexpr size_t kSudokuCells = 81;
inline constexpr LineFraming kSudokuLines{.limit_bytes = 128};

// True if `cells` are 81 digits.
bool is_sudoku(std::string_view cells);
// Returns the first solution that is found, or nothing if there is none. is_sudoku(cells) must be true.
std::optional<std::string> solve_sudoku(std::string_view cells);

// Returns the answer of the service with its line end: the solved cells, or NoSolution. Returns nothing if `line` is
// not a request. The caller then sends kBadSudoku.
std::optional<std::string> answer_sudoku(std::string_view line);
inline constexpr std::string_view kBadSudoku = "BadRequest\r\n";

}  // namespace peal::examples
