// SPDX-License-Identifier: BSD-3-Clause
#include <cli/words/manual.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cli/command.h>
#include <cli/words/word_walk.h>

namespace peal::cli {
namespace {

constexpr std::string_view kExitStatus =
    "0    The command is done.\n"
    "1    The command failed. Its command line was understood, but something that it names (a file, a port, a host,\n"
    "     an engine) is missing, not allowed, taken or of no use, or the work itself failed.\n"
    "2    The command line is wrong, and would be wrong on every machine: for example, there is no such option.\n"
    "3    Only load: the run was measured, but a gate says INVALID, so the figures cannot be trusted.\n"
    "130  Only load: SIGINT or SIGTERM ended the run. Its report covers the time until then.\n";

// Escapes the characters of `text` that man(7) would interpret: backslashes and hyphens, and a dot or an apostrophe at
// the start of a line. The manual page then shows the text unchanged.
std::string literal(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char letter : text) {
    if (at_start && (letter == '.' || letter == '\'')) out += "\\&";
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter;
    }
    at_start = letter == '\n';
  }
  return out;
}

std::string in_capitals(std::string_view text) {
  std::string out(text);
  for (char& letter : out) letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  return out;
}

void add_option(std::string& out, const CLI::Option& option) {
  std::vector<std::string> names = option_names(option);
  if (names.empty()) names.push_back(option.get_name(true));
  for (std::string& name : names) name = fmt::format("\\fB{}\\fR", literal(name));
  out += fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (option.get_items_expected_max() > 0 && !option.get_positional()) {
    out += fmt::format(" \\fI{}\\fR", literal(option.get_type_name()));
  }
  out += fmt::format("\n{}", literal(option.get_description()));
  if (!option.get_default_str().empty()) out += fmt::format(" (default: {})", literal(option.get_default_str()));
  out += '\n';
}

void add_footer(std::string& out, const CLI::App& command) {
  if (!command.get_footer().empty()) out += fmt::format(".PP\n.nf\n{}\n.fi\n", literal(command.get_footer()));
}

void add_command(std::string& out, const CLI::App& command, const std::string& path) {
  if (commands_of(command).empty() || !command.get_footer().empty()) {
    out += fmt::format(".SS {}\n{}.\n", literal(path), literal(command.get_description()));
    for (const CLI::Option* option : command.get_options()) {
      if (option != command.get_help_ptr()) add_option(out, *option);
    }
    add_footer(out, command);
  }
  for (const CLI::App* sub : commands_of(command)) add_command(out, *sub, path + ' ' + sub->get_name());
}

}  // namespace

std::string manual_page(const CLI::App& program, std::string_view name, std::string_view version) {
  std::string out = fmt::format(".TH {} 1 \"\" \"peal {}\" \"peal\"\n", literal(in_capitals(name)), version);
  const std::string about = program.get_description();
  const std::string heading = fmt::format("{}: ", name);  // the page shows the name already
  out += fmt::format(".SH NAME\n{} \\- {}\n", literal(name),
                     literal(std::string_view(about).substr(about.starts_with(heading) ? heading.size() : 0)));
  out += fmt::format(".SH SYNOPSIS\n.B {}\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH COMMANDS\n",
                     literal(program.get_name()));
  for (const CLI::App* sub : commands_of(program)) add_command(out, *sub, program.get_name() + ' ' + sub->get_name());
  out += fmt::format(".SH EXIT STATUS\n.nf\n{}.fi\n.SH EXAMPLES\n", literal(kExitStatus));
  add_footer(out, program);
  return out;
}

void add_manual(CLI::App& app, std::string_view name, std::string_view version, int& exit_code) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page of this program");
  command->footer(fmt::format("Example:\n  {} man | man -l -", name));
  command->callback([&app, page_name = std::string(name), version = std::string(version), &exit_code] {
    const bool said = say(stdout, manual_page(app, page_name, version));
    exit_code = said ? kDone : complain(kFailed, "the manual page could not be written to stdout");
  });
}

}  // namespace peal::cli
