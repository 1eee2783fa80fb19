// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/parts/spawn.h>

#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/assert.h>

namespace peal::detail {
namespace {

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  // Adds the actions that give the child `fds` and `directory`. Closes all other fds, because other libraries may have
  // opened fds without close-on-exec. Returns 0 or an errno.
  int add_all(std::span<const Fd> fds, const std::string& directory) {
    const int count = static_cast<int>(fds.size());
    int error = 0;
    for (int number = 0; number < count && error == 0; ++number) {
      PEAL_ASSERT(fds[static_cast<size_t>(number)].get() >= count, "fd {} would be overwritten by one of {}",
                  fds[static_cast<size_t>(number)].get(), count);
      error = ::posix_spawn_file_actions_adddup2(&actions_, fds[static_cast<size_t>(number)].get(), number);
    }
    if (error == 0) error = ::posix_spawn_file_actions_addclosefrom_np(&actions_, count);
    if (error == 0 && !directory.empty()) error = ::posix_spawn_file_actions_addchdir_np(&actions_, directory.c_str());
    return error;
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  explicit Attributes(bool own_group) {
    ::posix_spawnattr_init(&attributes_);
    sigset_t signals;
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    const int group = own_group ? POSIX_SPAWN_SETPGROUP : 0;
    ::posix_spawnattr_setflags(&attributes_,
                               static_cast<short>(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | group));
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

// Returns this process's environment with `changes` applied. If `clean` is true, returns only the variables that
// `changes` sets.
std::vector<std::string> changed_environment(std::span<const std::string> changes, bool clean) {
  std::vector<std::string> variables;
  for (char** each = clean ? nullptr : environ; each != nullptr && *each != nullptr; ++each) {
    const auto same_name = [name = name_of(*each)](const std::string& change) { return name_of(change) == name; };
    if (std::ranges::none_of(changes, same_name)) variables.emplace_back(*each);
  }
  std::ranges::copy_if(changes, std::back_inserter(variables),
                       [](const std::string& change) { return change.contains('='); });
  return variables;
}

// Returns an array of pointers to the C strings in `texts`, with a null pointer at the end, as execve(2) requires. The
// array is valid as long as `texts`.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

bool holds_nul(std::string_view text) { return text.contains('\0'); }

bool is_valid(const Command& command, const SubprocessOptions& options) {
  const std::vector<std::string>& arguments = command.arguments();
  if (arguments.empty() || std::ranges::any_of(arguments, holds_nul) || holds_nul(options.directory)) return false;
  return std::ranges::none_of(options.environment,
                              [](const std::string& change) { return holds_nul(change) || name_of(change).empty(); });
}

}  // namespace

Result<pid_t> spawn(const Command& command, std::span<const Fd> fds, const SubprocessOptions& options) {
  if (!is_valid(command, options)) return fail(EINVAL);
  FileActions actions;
  int error = actions.add_all(fds, std::string(options.directory));
  const std::vector<std::string> environment = changed_environment(options.environment, options.clean_environment);
  const Attributes attributes(options.own_group);
  const std::vector<std::string>& arguments = command.arguments();
  pid_t pid = 0;
  if (error == 0) {
    error = ::posix_spawnp(&pid, arguments.front().c_str(), actions.get(), attributes.get(), pointers(arguments).data(),
                           pointers(environment).data());
  }
  if (error != 0) return fail(error);
  return pid;
}

}  // namespace peal::detail
