// SPDX-License-Identifier: BSD-3-Clause
// The manual page of a program, made from the texts of its --help.
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace peal::cli {

// Returns the source text of the manual page (man(7)), with a section for each command. `name` is the name of the
// program's executable file.
std::string manual_page(const CLI::App& program, std::string_view name, std::string_view version);

// Adds the command `man` to `app`. The command prints the manual page of the program.
void add_manual(CLI::App& app, std::string_view name, std::string_view version, int& exit_code);

}  // namespace peal::cli
