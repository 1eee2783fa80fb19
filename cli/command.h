// SPDX-License-Identifier: BSD-3-Clause
// The programs `peal`, `peal-model` and `peal-rpc`: one file for each subcommand, each of which registers itself here.
//
// A subcommand's callback sets `exit_code`: 0 done, 1 it failed, 2 it was called wrongly; `load` adds 3, a gate failed.
// What went wrong is said in one sentence on stderr.
#pragma once

#include <cstdio>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <peal/base/result.h>

namespace peal::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kCalledWrongly = 2;
inline constexpr int kGateFailed = 3;  // of `load`

void add_serve(CLI::App& app, int& exit_code);
void add_load(CLI::App& app, int& exit_code);
void add_drum(CLI::App& app, int& exit_code);
void add_model_commands(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_tls(CLI::App& app, int& exit_code);

// Those of `load`.
void add_duel(CLI::App& load, int& exit_code);
void add_agent(CLI::App& load, int& exit_code);
void add_merge(CLI::App& load, int& exit_code);
void add_compare(CLI::App& load, int& exit_code);
void add_judge(CLI::App& load, int& exit_code);

// All of them but the models, and refuse_empty_texts().
void add_commands(CLI::App& app, int& exit_code);
// Each option of the command, and of those in it, that takes a text refuses an empty one: it is a variable of a script
// that is not set, and would pass for 0, or for an option that is not given.
void refuse_empty_texts(CLI::App& command);

// Writes the text out, whole and at once. False: the disk is full, or nobody reads any more.
bool say(std::FILE* place, std::string_view text);
// Prints "peal: <sentence>" to stderr, as one line whatever it quotes (printable()), and returns `code`.
int complain(int code, std::string_view sentence);
// Why a command is not carried out. kCalledWrongly: the command line is wrong by itself, on every machine (an option
// nobody knows, a number that is none, two options that exclude each other). kFailed: it was understood, and what it
// names is missing, not allowed, taken or of no use (a file, a folder, a port, a host, an engine).
struct CommandTrouble {
  CommandTrouble() = default;  // none
  // A sentence about the words; an empty one: none.
  CommandTrouble(std::string its_sentence)
      : code(its_sentence.empty() ? kDone : kCalledWrongly), sentence(std::move(its_sentence)) {}
  CommandTrouble(const char* its_sentence) : CommandTrouble(std::string(its_sentence)) {}
  CommandTrouble(int its_code, std::string its_sentence) : code(its_code), sentence(std::move(its_sentence)) {}
  bool empty() const { return code == kDone; }

  int code = kDone;
  std::string sentence;
};
int complain(const CommandTrouble& trouble);
// Why `engine` cannot be used here: nobody knows its name, or this machine cannot run it. "auto" always can.
CommandTrouble engine_trouble(std::string_view engine);
// Raises the soft limit of open fds to the hard one; returns the limit now in force.
size_t raise_fd_limit();
// All of a file, which may also be a pipe that is waited for; or a sentence that names it: it cannot be read, is a
// folder, or has more than `most_bytes`.
std::expected<std::string, std::string> read_file(const std::string& path, size_t most_bytes);
// Why nobody can listen there, in a sentence.
std::string listen_trouble(const std::string& address, std::error_code error);
// What is wrong with a text that was to be one.
std::string address_trouble(std::string_view text, std::error_code error);

}  // namespace peal::cli
