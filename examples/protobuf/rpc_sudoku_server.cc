// SPDX-License-Identifier: BSD-3-Clause
// Solves sudokus as a remote procedure: `rpc_sudoku_server [ADDRESS]`. If the request is not a puzzle, or has no
// solution, the answer is `solved: false`.
#include <examples/protobuf/rpc_sudoku.pb.h>
#include <examples/shared/service.h>
#include <examples/sudoku/sudoku.h>

#include <peal/protobuf/rpc/rpc_server.h>

namespace {

using namespace peal;
using sudoku::SudokuRequest;
using sudoku::SudokuResponse;

void solve(RpcCall&, const SudokuRequest& request, SudokuResponse& response) {
  std::optional<std::string> solution;
  if (examples::is_sudoku(request.checkerboard())) solution = examples::solve_sudoku(request.checkerboard());
  response.set_solved(solution.has_value());
  if (solution) response.set_checkerboard(*solution);
}

}  // namespace

int main(int argc, char** argv) {
  Loop loop;
  RpcServer server(loop, {.limit_bytes = 4096});
  server.handle(&sudoku::SudokuService::Solve, solve);
  return examples::listen(server, examples::argument(argc, argv, 1, "127.0.0.1:9981")) ? examples::run(loop) : 1;
}
