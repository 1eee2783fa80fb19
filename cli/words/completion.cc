// SPDX-License-Identifier: BSD-3-Clause
#include <cli/words/completion.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include <cli/command.h>
#include <cli/one_of.h>
#include <cli/words/word_walk.h>

namespace peal::cli {
namespace {

constexpr std::string_view kBash = R"(# bash completion of {0}. Load it with: source <({0} completion bash)
_{1}() {{
  local line IFS=$'\n'
  COMPREPLY=()
  for line in $("${{COMP_WORDS[0]}}" --complete "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null); do
    COMPREPLY+=("${{line%%$'\t'*}}")
  done
}}
complete -o default -F _{1} {0}
)";

constexpr std::string_view kZsh = R"(#compdef {0}
# zsh completion of {0}. Load it with: source <({0} completion zsh)
_{1}() {{
  local line
  local -a lines
  for line in "${{(@f)$("${{words[1]}}" --complete "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}"; do
    [[ -n $line ]] && lines+=("${{${{line//:/\\:}}/$'\t'/:}}")
  done
  if (( $#lines )); then _describe '{0}' lines; else _files; fi
}}
if [[ $funcstack[1] == _{1} ]]; then _{1} "$@"; else compdef _{1} {0}; fi
)";

constexpr std::string_view kFish = R"(# fish completion of {0}. Load it with: {0} completion fish | source
function __{1}_complete
  set -l before (commandline -opc)
  set -e before[1]
  set -l lines ({0} --complete $before (commandline -ct) 2>/dev/null)
  if test (count $lines) -gt 0; string join \n -- $lines; else; __fish_complete_path (commandline -ct); end
end
complete -c {0} -f -a '(__{1}_complete)'
)";

void offer(std::string& out, std::string_view start, std::string_view word, std::string_view what = {}) {
  if (!word.starts_with(start)) return;
  out += word;
  // Keeps only the first sentence of the description, or its part before a semicolon or a newline, because shells print
  // the description beside the word.
  what = what.substr(0, std::min(what.find_first_of(";\n"), what.find(". ")));
  if (!what.empty()) out += fmt::format("\t{}", what);
  out += '\n';
}

void offer_options(std::string& out, const CLI::App& command, std::string_view start) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option_names(*option)) offer(out, start, name, option->get_description());
  }
}

int print_script(const std::string& shell, const std::string& program) {
  if (say(stdout, completion_script(shell, program))) return kDone;
  return complain(kFailed, "the script could not be written to stdout");
}

}  // namespace

std::string completions(const CLI::App& program, std::span<const std::string> words) {
  if (words.empty()) return {};
  const std::string& start = words.back();
  const WordWalk at = walk_words(program, words.first(words.size() - 1));
  std::string out;
  if (at.unknown != WordWalk::Unknown::kNone || at.foreign) return out;
  if (at.expects != nullptr) {
    for (const std::string& choice : choices_of(*at.expects)) offer(out, start, choice);
    return out;
  }
  if (start.starts_with('-')) {
    offer_options(out, *at.command, start);
    return out;
  }
  for (const CLI::App* sub : commands_of(*at.command)) offer(out, start, sub->get_name(), sub->get_description());
  for (const CLI::Option* option : at.command->get_options()) {
    if (!option->get_positional()) continue;
    for (const std::string& choice : choices_of(*option)) offer(out, start, choice);
  }
  return out;
}

std::string completion_script(std::string_view shell, std::string_view program) {
  std::string name(program);
  for (char& letter : name) letter = letter == '-' ? '_' : letter;
  const std::string_view script = shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
  return fmt::format(fmt::runtime(script), program, name);
}

void add_completion(CLI::App& app, std::string_view name, int& exit_code) {
  CLI::App* command = app.add_subcommand("completion", "Print a script that completes command lines in a shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(one_of({"bash", "zsh", "fish"}));
  command->footer(fmt::format("Example:\n  source <({} completion bash)", name));
  command->callback([shell, program = std::string(name), &exit_code] { exit_code = print_script(*shell, program); });
}

}  // namespace peal::cli
