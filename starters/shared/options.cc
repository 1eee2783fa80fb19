// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <getopt.h>

#include <optional>
#include <string_view>

#include <peal/wire/parse_text.h>

namespace app {
namespace {

constexpr option kLong[] = {
    {"listen", required_argument, nullptr, 'l'},  {"inspect", required_argument, nullptr, 'i'},
    {"threads", required_argument, nullptr, 't'}, {"max-connections", required_argument, nullptr, 'c'},
    {"memory", required_argument, nullptr, 'm'},  {"drain", required_argument, nullptr, 'd'},
    {"help", no_argument, nullptr, 'h'},          {}};

// Stores the number that `text` stands for. Returns false if it is no number from `least` to `most`.
template <class Number>
bool read_number(std::string_view text, uint64_t least, uint64_t most, Number& number) {
  const std::optional<uint64_t> read = peal::parse_text<uint64_t>(text);
  if (!read || *read < least || *read > most) return false;
  number = Number(*read);
  return true;
}

bool read_option(int letter, std::string_view text, Options& options) {
  switch (letter) {
    case 'l': options.listen = text; return !text.empty();
    case 'i': options.inspect = text; return !text.empty();
    case 't': return read_number(text, 1, 256, options.threads);
    case 'c': return read_number(text, 1, 1'000'000, options.max_connections);
    case 'm': return read_number(text, 64, 1'000'000, options.memory_mib);
    case 'd': return read_number(text, 0, 3600, options.drain);
    default: return false;
  }
}

}  // namespace

std::string usage() {
  return "my_service [OPTION...]\n"
         "  --listen ADDRESS      Address for clients, default 127.0.0.1:8000; port 0: any free port\n"
         "  --inspect ADDRESS     Address of the inspector's page and metrics, default 127.0.0.1:9990\n"
         "  --threads N           Threads that serve clients, 1 to 256, default: one for each processor\n"
         "  --max-connections N   Open connections, 1 to 1000000, default 1000\n"
         "  --memory MIB          Hard limit of the memory for connections, 64 to 1000000, default 512\n"
         "  --drain SECONDS       How long SIGTERM waits for clients, 0 to 3600, default 20\n"
         "  --help                Print this text\n"
         "Exit codes: 0 ended by a signal, 1 a failure, 2 a wrong command line.\n";
}

std::expected<Options, std::string> read_options(int argc, char** argv) {
  Options options;
  int at = 0;
  opterr = 0;  // main() prints the sentence
  for (int letter = 0; (letter = ::getopt_long(argc, argv, ":", kLong, &at)) != -1;) {
    if (letter == 'h') {
      options.help = true;
      return options;
    }
    if (letter == '?') return std::unexpected("there is no option " + std::string(argv[optind - 1]));
    if (letter == ':') return std::unexpected(std::string(argv[optind - 1]) + " needs a value");
    if (!read_option(letter, optarg, options)) {
      return std::unexpected("--" + std::string(kLong[at].name) + " does not take '" + optarg + "'");
    }
  }
  if (optind < argc) return std::unexpected("unexpected argument '" + std::string(argv[optind]) + "'");
  return options;
}

}  // namespace app
