// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/spawned_child.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include <peal/base/assert.h>

namespace peal::load {
namespace {

struct ChildEnds {
  int input;  // -1: stdin is /dev/null
  int output;
  int complaints;
  int failure;  // receives errno if the program cannot be run
};

// Runs in the child process after fork(2). If another thread of the parent held a lock during fork(2), the lock stays
// locked in the child forever. So this function takes no lock. Apart from sigemptyset(3) and execvpe(3), which take no
// lock, this function makes only system calls.
[[noreturn]] void become(char* const* words, char* const* environment, const ChildEnds& ends, const cpu_set_t* cpus,
                         int parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  if (cpus != nullptr) ::sched_setaffinity(0, sizeof *cpus, cpus);
  ::dup2(ends.input >= 0 ? ends.input : ::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  ::dup2(ends.output, STDOUT_FILENO);
  ::dup2(ends.complaints, STDERR_FILENO);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(words[0], words, environment);
  const int error = errno;
  static_cast<void>(::write(ends.failure, &error, sizeof error));
  ::_exit(127);
}

struct TwoEnds {
  Fd mine;
  Fd its;
};

std::optional<TwoEnds> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  return TwoEnds{.mine = Fd(ends[0]), .its = Fd(ends[1])};
}

std::optional<TwoEnds> make_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return std::nullopt;
  return TwoEnds{.mine = Fd(ends[0]), .its = Fd(ends[1])};
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<char*> environment_with(std::string& mark) {
  std::vector<char*> words;
  if (!mark.empty()) words.push_back(mark.data());
  const std::string_view name = std::string_view(mark).substr(0, mark.find('=') + 1);
  for (char** word = environ; *word != nullptr; ++word) {
    if (mark.empty() || !std::string_view(*word).starts_with(name)) words.push_back(*word);
  }
  words.push_back(nullptr);
  return words;
}

}  // namespace

std::expected<SpawnedChild, std::string> spawn(ChildWishes wishes) {
  PEAL_ASSERT(!wishes.words.empty(), "no program is given");
  const std::string& program = wishes.words.front();
  const std::vector<char*> words = pointers_to(wishes.words);
  const std::vector<char*> environment = environment_with(wishes.mark);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : wishes.cpus) CPU_SET(cpu, &set);

  std::optional<TwoEnds> input = wishes.is_spoken_to ? make_sockets() : TwoEnds{};
  std::optional<TwoEnds> output = make_pipe();
  std::optional<TwoEnds> complaints = make_pipe();
  std::optional<TwoEnds> failure = make_pipe();
  const auto no_process = [&] {
    return std::unexpected(fmt::format("{} cannot be started: {}", program, std::strerror(errno)));
  };
  if (!input || !output || !complaints || !failure) return no_process();
  const int parent = ::getpid();
  const int pid = ::fork();
  if (pid < 0) return no_process();
  if (pid == 0) {
    become(words.data(), environment.data(),
           {input->its.get(), output->its.get(), complaints->its.get(), failure->its.get()},
           wishes.cpus.empty() ? nullptr : &set, parent);
  }
  ::setpgid(pid, pid);  // parent and child both do this, since either may run first
  failure->its = Fd();
  int error = 0;
  if (::read(failure->mine.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(pid, nullptr, 0);
    return std::unexpected(fmt::format("{} cannot be run: {}", program, std::strerror(error)));
  }
  return SpawnedChild{.pid = pid,
                      .input = std::move(input->mine),
                      .output = std::move(output->mine),
                      .complaints = std::move(complaints->mine)};
}

}  // namespace peal::load
