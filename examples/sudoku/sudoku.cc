// SPDX-License-Identifier: BSD-3-Clause
#include <examples/sudoku/sudoku.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace peal::examples {
namespace {

// Solves a sudoku by depth-first search. The search continues with the empty cell that has the fewest possible digits,
// because a wrong guess is least likely in that cell. If a cell has at most one possible digit, the search takes that
// cell without looking at further cells. Each row, column and box has nine bits, one for each digit. A bit is set while
// its digit is missing in that row, column or box.
class Board {
 public:
  // Places the given digits. Returns false if they contradict each other.
  bool set_up(std::string_view cells) {
    for (size_t cell = 0; cell < kSudokuCells; ++cell) {
      if (cells[cell] == '0') {
        empty_[empty_count_++] = cell;
      } else if (!place(cell, static_cast<uint16_t>(1 << (cells[cell] - '1')))) {
        return false;
      }
    }
    return true;
  }

  bool solve(size_t done = 0) {
    if (done == empty_count_) return true;
    size_t best = done;
    int fewest = 10;
    for (size_t i = done; i < empty_count_ && fewest > 1; ++i) {
      const int count = std::popcount(candidates(empty_[i]));
      if (count >= fewest) continue;
      fewest = count;
      best = i;
    }
    std::swap(empty_[done], empty_[best]);
    const size_t cell = empty_[done];
    for (uint16_t left = candidates(cell); left != 0; left &= static_cast<uint16_t>(left - 1)) {
      const auto digit = static_cast<uint16_t>(left & -left);
      place(cell, digit);
      if (solve(done + 1)) return true;
      take_back(cell, digit);
    }
    return false;
  }

  std::string text() const {
    std::string cells;
    for (const uint16_t digit : digits_) cells += static_cast<char>('1' + std::countr_zero(digit));
    return cells;
  }

 private:
  static constexpr uint16_t kAll = 0x1ff;

  static size_t row(size_t cell) { return cell / 9; }
  static size_t column(size_t cell) { return cell % 9; }
  static size_t box(size_t cell) { return cell / 27 * 3 + cell % 9 / 3; }
  uint16_t candidates(size_t cell) const { return rows_[row(cell)] & columns_[column(cell)] & boxes_[box(cell)]; }
  bool place(size_t cell, uint16_t digit) {
    if ((candidates(cell) & digit) == 0) return false;
    flip(cell, digit);
    digits_[cell] = digit;
    return true;
  }
  void take_back(size_t cell, uint16_t digit) { flip(cell, digit); }
  void flip(size_t cell, uint16_t digit) {
    rows_[row(cell)] ^= digit;
    columns_[column(cell)] ^= digit;
    boxes_[box(cell)] ^= digit;
  }
  static constexpr std::array<uint16_t, 9> all() {
    std::array<uint16_t, 9> nine;
    nine.fill(kAll);
    return nine;
  }

  std::array<uint16_t, 9> rows_ = all();
  std::array<uint16_t, 9> columns_ = all();
  std::array<uint16_t, 9> boxes_ = all();
  std::array<uint16_t, kSudokuCells> digits_{};
  std::array<size_t, kSudokuCells> empty_{};
  size_t empty_count_ = 0;
};

}  // namespace

bool is_sudoku(std::string_view cells) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return cells.size() == kSudokuCells && std::ranges::all_of(cells, is_digit);
}

std::optional<std::string> solve_sudoku(std::string_view cells) {
  Board board;
  if (!board.set_up(cells) || !board.solve()) return std::nullopt;
  return board.text();
}

std::optional<std::string> answer_sudoku(std::string_view line) {
  const size_t colon = line.find(':');
  const std::string_view id = colon == line.npos ? "" : line.substr(0, colon + 1);
  const std::string_view cells = line.substr(id.size());
  if (!is_sudoku(cells)) return std::nullopt;
  return std::string(id) + solve_sudoku(cells).value_or("NoSolution") + "\r\n";
}

}  // namespace peal::examples
