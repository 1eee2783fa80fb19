// SPDX-License-Identifier: BSD-3-Clause
// A sudoku solver, and the line protocol of the sudoku service: a request is `[ID:]CELLS\r\n`, CELLS being 81 digits, 0
// for what is to be found; the answer is the same with all cells filled in, `NoSolution`, or, for a line that is no
// request, `BadRequest`, after which the server closes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <peal/wire/framing/delimiter_framing.h>

namespace peal::examples {

inline constexpr size_t kSudokuCells = 81;
inline constexpr LineFraming kSudokuLines{.limit_bytes = 128};

// 81 digits.
bool is_sudoku(std::string_view cells);
// The first solution; nothing when there is none. `cells`: is_sudoku().
std::optional<std::string> solve_sudoku(std::string_view cells);

// What the service answers, with its line end; nothing for a line that is no request.
std::optional<std::string> answer_sudoku(std::string_view line);
inline constexpr std::string_view kBadSudoku = "BadRequest\r\n";

}  // namespace peal::examples
