// SPDX-License-Identifier: BSD-3-Clause
// Asks a server to solve sudokus, in a coroutine: `rpc_sudoku_client ADDRESS PUZZLE...`. A puzzle is 81 digits, 0 for
// an empty cell. Prints a line for each puzzle: the solution, or "no solution".
#include <examples/protobuf/rpc_client.h>
#include <examples/protobuf/rpc_sudoku.pb.h>

#include <peal/base/printable.h>

namespace {

using namespace peal;
using sudoku::SudokuRequest;
using sudoku::SudokuResponse;

constexpr Duration kPatience = std::chrono::minutes(1);

// Sends the puzzles and prints the answers. Returns the exit code of the program.
Task<int> ask(Loop& loop, std::string address, std::vector<std::string> puzzles) {
  RpcChannel channel(loop, examples::one_attempt());
  if (Result<void> begun = channel.connect(address); !begun) {
    co_return examples::failed("cannot connect to " + address, begun.error());
  }
  SudokuRequest request;
  for (const std::string& puzzle : puzzles) {
    // Quoted in docs: [call]
    request.set_checkerboard(puzzle);
    Result<SudokuResponse> answer = co_await channel.call(&sudoku::SudokuService::Solve, request).within(kPatience);
    if (!answer) co_return examples::failed("no answer from " + address, answer.error());
    fmt::print("{}\n", answer->solved() ? printable(answer->checkerboard()) : "no solution");
    // End of quote: [call]
  }
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: rpc_sudoku_client ADDRESS PUZZLE...\n");
    return 2;
  }
  Loop loop;
  return examples::run(loop, ask(loop, argv[1], {argv + 2, argv + argc}));
}
