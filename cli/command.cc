// SPDX-License-Identifier: BSD-3-Clause
#include <cli/command.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include <peal/base/fd.h>
#include <peal/base/printable.h>
#include <peal/base/read_whole.h>
#include <peal/base/socket_address.h>
#include <peal/engine/engines.h>

namespace peal::cli {

void add_commands(CLI::App& app, int& exit_code) {
  add_serve(app, exit_code);
  add_load(app, exit_code);
  add_drum(app, exit_code);
  add_doctor(app, exit_code);
  add_tls(app, exit_code);
  add_new(app, exit_code);
  refuse_empty_texts(app);
}

void refuse_empty_texts(CLI::App& command) {
  const CLI::Validator given([](std::string& text) { return text.empty() ? "it may not be empty" : ""; }, "");
  for (CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() > 0) option->transform(given);  // 0 means a flag, which takes no text
  }
  for (CLI::App* sub : command.get_subcommands({})) refuse_empty_texts(*sub);
}

load::Paint paint_for(std::FILE* place) {
  const auto setting = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  return load::Paint(::isatty(::fileno(place)) == 1 && setting("NO_COLOR").empty() && setting("TERM") != "dumb");
}

bool say(std::FILE* place, std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), place) == text.size();
  return std::fflush(place) == 0 && written;
}

int complain(int code, std::string_view sentence) {
  say(stderr, fmt::format("peal: {}\n", printable(sentence)));
  return code;
}

int complain(const CommandTrouble& trouble) { return complain(trouble.code, trouble.sentence); }

CommandTrouble engine_trouble(std::string_view engine) {
  if (engine == "auto") return {};
  auto names = engine_names();
  if (std::find(names.begin(), names.end(), engine) == names.end()) {
    return {kCalledWrongly,
            fmt::format("there is no engine '{}' in this build; there are: auto, {}", engine, fmt::join(names, ", "))};
  }
  std::string why = why_unsupported(engine);
  if (why.empty()) return {};
  return {kFailed, fmt::format("the engine '{}' cannot run here: {}", engine, why)};
}

namespace {

// Returns a sentence that says why the unix socket of `address` cannot be created. `text` is the address as the user
// has written it. Returns an empty text if error.message() alone is clear enough.
std::string unix_trouble(const std::string& text, const SocketAddress& address, std::error_code error) {
  const std::string path(address.unix_path());
  struct stat facts{};
  if (error == std::errc::address_in_use && path.empty()) {
    return fmt::format("{} is taken: another program has that name; choose another one", text);
  }
  if (error == std::errc::address_in_use && ::lstat(path.c_str(), &facts) == 0 && !S_ISSOCK(facts.st_mode)) {
    return fmt::format("{} is there already and is no socket; remove it, or choose another path", text);
  }
  if (error == std::errc::address_in_use) {
    return fmt::format("{} is taken: another program has that socket; choose another path", text);
  }
  if (error == std::errc::permission_denied) {
    return fmt::format("this user may not create {}: choose a folder that the user may write to", text);
  }
  return {};
}

}  // namespace

std::string listen_trouble(const std::string& address, std::error_code error) {
  const Result<SocketAddress> parsed = SocketAddress::parse(address);
  if (parsed && parsed->family() == AF_UNIX) {
    if (std::string trouble = unix_trouble(address, *parsed, error); !trouble.empty()) return trouble;
  }
  if (error == std::errc::address_in_use) {
    return fmt::format("{} is taken: another program listens there; choose another port", address);
  }
  if (error == std::errc::permission_denied) {
    return fmt::format("this user may not listen on {}: choose a port of 1024 or above", address);
  }
  if (error == std::errc::address_not_available) {
    return fmt::format("{} is not an address of this machine", address);
  }
  return fmt::format("cannot listen on {}: {}", address, error.message());
}

std::string address_trouble(std::string_view text, std::error_code error) {
  return fmt::format("'{}': {}", text, error.message());
}

size_t raise_fd_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : before;
}

std::expected<std::string, std::string> read_file(const std::string& path, size_t most_bytes) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Result<std::string> text = file ? read_whole(file.get(), most_bytes) : fail(errno);
  if (text) return std::move(*text);
  if (text.error() == std::errc::file_too_large) {
    return std::unexpected(fmt::format("{} is larger than {} bytes", path, most_bytes));
  }
  return std::unexpected(fmt::format("{} cannot be read: {}", path, text.error().message()));
}

}  // namespace peal::cli
