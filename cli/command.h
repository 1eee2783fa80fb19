// SPDX-License-Identifier: BSD-3-Clause
// The parts that all commands of `peal`, `peal-model` and `peal-rpc` share. Each command has a file of its own. The
// function add_NAME() in that file adds the command to the program.
//
// The callback of a command sets `exit_code` to one of the constants below. If the command fails, it also prints one
// sentence on stderr that says why.
#pragma once

#include <cstdio>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <load/report/paint.h>
#include <peal/base/result.h>

namespace peal::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kCalledWrongly = 2;
inline constexpr int kGateFailed = 3;     // only `load`: the run ended, but its report says INVALID
inline constexpr int kInterrupted = 130;  // only `load`: a signal ended the run; shells use 128 + SIGINT too

// The help texts of options that several commands have.
inline constexpr const char* kListenHelp =
    "Address to listen on: HOST:PORT, [HOST]:PORT or unix:PATH; port 0: any free port";
inline constexpr const char* kEngineHelp = "System interface for input and output; auto is epoll";
// The type name of such an option. The words in braces are what a shell completes.
inline constexpr const char* kEngineWords = "TEXT:{auto,io_uring,epoll,poll,select}";
inline constexpr const char* kSpinHelp =
    "How long a loop polls for events before it sleeps: off, auto, or a time of at most 10ms, such as 50us; polling "
    "lowers latency, but keeps a CPU busy";

void add_serve(CLI::App& app, int& exit_code);
void add_load(CLI::App& app, int& exit_code);
void add_drum(CLI::App& app, int& exit_code);
void add_model_commands(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_tls(CLI::App& app, int& exit_code);
void add_new(CLI::App& app, int& exit_code);

// Each of these functions adds a command of `peal load`.
void add_duel(CLI::App& load, int& exit_code);
void add_agent(CLI::App& load, int& exit_code);
void add_merge(CLI::App& load, int& exit_code);
void add_compare(CLI::App& load, int& exit_code);
void add_judge(CLI::App& load, int& exit_code);

// Adds the commands serve, load, drum, doctor, tls and new to `peal`, then calls refuse_empty_texts(app). Other
// functions add the remaining commands. run_program() adds completion and man, because every program has these two.
// add_model_program() adds model, because model runs another program, peal-model.
void add_commands(CLI::App& app, int& exit_code);
// Makes all options of `command` and of its subcommands refuse an empty text. A script passes an empty text if its
// variable is not set. Without this check, the empty text would count as 0 or as a missing option.
void refuse_empty_texts(CLI::App& command);

// Returns a Paint for text that is written to `place`. The Paint uses colours only if `place` is a terminal that can
// show them. The user can switch colours off with the environment variable NO_COLOR (no-color.org).
load::Paint paint_for(std::FILE* place);
// Writes the whole text to `place` and flushes the stream. Returns false if that fails, for example because the disk is
// full or because the reader of a pipe has gone.
bool say(std::FILE* place, std::string_view text);
// Prints "peal: " and the sentence to stderr, and returns `code`. Escapes control characters in the sentence, so that
// the output is always one line.
int complain(int code, std::string_view sentence);
// CommandTrouble: the reason why a command was not carried out. A CommandTrouble consists of an exit code and a
// sentence.
// - kCalledWrongly: the command line would be wrong on every machine. Examples: an option that does not exist, a text
//   that is no number, two options that exclude each other.
// - kFailed: the command line is right, but the command cannot be carried out here and now. Examples: a file or a
//   folder is missing, a port is taken, a host has no address, the machine cannot run an engine, a server does not
//   answer.
struct CommandTrouble {
  CommandTrouble() = default;  // no trouble
  // `its_sentence` says what is wrong with the command line, and `code` becomes kCalledWrongly. An empty sentence means
  // that nothing is wrong: `code` becomes kDone.
  CommandTrouble(std::string its_sentence)
      : code(its_sentence.empty() ? kDone : kCalledWrongly), sentence(std::move(its_sentence)) {}
  CommandTrouble(const char* its_sentence) : CommandTrouble(std::string(its_sentence)) {}
  CommandTrouble(int its_code, std::string its_sentence) : code(its_code), sentence(std::move(its_sentence)) {}
  bool empty() const { return code == kDone; }

  int code = kDone;
  std::string sentence;
};
int complain(const CommandTrouble& trouble);
// Returns why `engine` cannot be used: this build has no engine of that name, or this machine cannot run the engine.
// The result is empty if the engine can be used. The result for "auto" is always empty, because "auto" means epoll,
// which runs on every Linux.
CommandTrouble engine_trouble(std::string_view engine);
// Raises the process's soft limit of open fds to its hard limit, so that the process can open more connections. Returns
// the new soft limit. If the limit cannot be raised, returns the old soft limit, which stays in force. Returns 0 if the
// limits cannot be read.
size_t raise_fd_limit();
// Returns the content of the file at `path`. If the path is a pipe, reads until the last writer closes the pipe. Fails
// if the file cannot be read, as a folder cannot, or if the file holds more than `most_bytes` bytes. The error is a
// sentence that names the path.
std::expected<std::string, std::string> read_file(const std::string& path, size_t most_bytes);
// Returns a sentence that says why the program cannot listen on `address`. `error` is the error of the failed attempt.
std::string listen_trouble(const std::string& address, std::error_code error);
// Returns a sentence that says why `text` is not an address. `error` is the error that parsing `text` has returned.
std::string address_trouble(std::string_view text, std::error_code error);

}  // namespace peal::cli
