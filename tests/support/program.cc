// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/program.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace peal {
namespace {

constexpr int kExecFailed = 127;

int patience_ms(TimePoint until) {
  const Duration left = std::max(until - monotonic_now(), Duration::zero());
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

// Returns a pidfd, which becomes readable when the process ends. Uses syscall(2), because a call of pidfd_open() in C++
// does not link with glibc 2.36. The header of glibc 2.36 declares that function without extern "C".
Fd pidfd_of(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

std::pair<Fd, Fd> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0) << std::strerror(errno);
  EXPECT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0) << std::strerror(errno);
  return {Fd(ends[0]), Fd(ends[1])};
}

// Returns the session id from the file /proc/PID/stat, or -1 if the process no longer exists. A zombie still has its
// session id. The file contains the process name in parentheses, and the name may contain any characters (proc(5)). The
// function therefore begins to parse after the last ")", which is the end of the name.
pid_t session_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return -1;  // the process has just ended
  std::istringstream rest(text.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0, group = 0, session = -1;
  rest >> state >> parent >> group >> session;
  return session;
}

// Replaces the forked child by the program. Until execv(), the function calls only functions that take no lock. Another
// thread of the test may have held a lock, such as malloc's, during fork(). In the child, that lock is never released.
[[noreturn]] void become(char** argv, int out, int err, pid_t parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExecFailed);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(argv[0], argv);
  ::_exit(kExecFailed);
}

pid_t start(const std::string& path, std::vector<std::string>& arguments, int out, int err) {
  arguments.insert(arguments.begin(), path);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0) << std::strerror(errno);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(argv.data(), out, err, parent);
  EXPECT_GT(child, 0) << std::strerror(errno);
  return child;
}

// Appends everything that has arrived at `fd` to `into`.
void read_all(const Fd& fd, std::string& into) {
  std::array<char, 4096> room;
  ssize_t count = 0;
  while ((count = ::read(fd.get(), room.data(), room.size())) > 0) into.append(room.data(), static_cast<size_t>(count));
}

}  // namespace

bool ready(int fd, short events) {
  pollfd entry{.fd = fd, .events = events, .revents = 0};
  return ::poll(&entry, 1, patience_ms(monotonic_now() + kProgramPatience)) == 1;
}

bool readable(int fd) { return ready(fd, POLLIN); }

Program::Program(const std::string& name, std::vector<std::string> arguments) {
  auto [out_read, out_write] = make_pipe();
  auto [err_read, err_write] = make_pipe();
  session_ = pid_ = start(std::filesystem::path(PEAL_BIN_DIR) / name, arguments, out_write.get(), err_write.get());
  ended_ = pidfd_of(pid_);
  EXPECT_TRUE(static_cast<bool>(ended_)) << std::strerror(errno);
  out_ = std::move(out_read);
  err_ = std::move(err_read);
}

Program::~Program() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (const pid_t left : others()) ::kill(left, SIGKILL);
  static_cast<void>(others_end());
}

std::string Program::line() {
  std::string text;
  char c = 0;
  while (readable(out_.get()) && ::read(out_.get(), &c, 1) == 1 && c != '\n') text += c;
  return text;
}

SocketAddress Program::listening() {
  const std::string text = line();
  const std::string_view said = "listening on ";
  if (!text.starts_with(said)) {
    drain();
    ADD_FAILURE() << "the program did not print its address but: " << text << '\n' << errors_;
    return {};
  }
  const Result<SocketAddress> address = SocketAddress::parse(text.substr(said.size()));
  EXPECT_TRUE(address.has_value()) << text;
  return address.value_or(SocketAddress{});
}

void Program::signal(int number) const { EXPECT_EQ(::kill(pid_, number), 0) << std::strerror(errno); }

// Reads the output until the program has ended. If the program has not ended after 30 s, the test fails and the program
// is killed. The function waits for the pidfd and not for the end of the pipes. Another process may have inherited the
// pipes and may keep them open after the program has ended.
void Program::drain() {
  const TimePoint give_up = monotonic_now() + kProgramPatience;
  std::array entries{pollfd{.fd = ended_.get(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = out_.get(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = err_.get(), .events = POLLIN, .revents = 0}};
  do {
    if (::poll(entries.data(), entries.size(), patience_ms(give_up)) == 0) {
      ADD_FAILURE() << "the program has not ended within 30 s";
      ::kill(pid_, SIGKILL);
      return;
    }
    read_all(out_, output_);
    read_all(err_, errors_);
    // Stops polling a pipe whose other end is closed. Otherwise poll(2) would return immediately each time.
    for (pollfd& entry : entries) {
      if ((entry.revents & POLLHUP) != 0) entry.fd = -1;
    }
  } while (entries[0].revents == 0);
  read_all(out_, output_);
  read_all(err_, errors_);
}

int Program::exit_code() {
  drain();
  int status = 0;
  EXPECT_GT(::waitpid(std::exchange(pid_, 0), &status, 0), 0) << std::strerror(errno);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::vector<pid_t> Program::others() const {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    if (pid != session_ && session_of(entry.path()) == session_) found.push_back(pid);
  }
  std::ranges::sort(found);
  return found;
}

testing::AssertionResult Program::others_end() {
  const TimePoint give_up = monotonic_now() + kProgramPatience;
  for (std::vector<pid_t> left = others(); !left.empty(); left = others()) {
    for (const pid_t pid : left) {
      const Fd end = pidfd_of(pid);
      if (!end) continue;  // the process has just ended
      pollfd entry{.fd = end.get(), .events = POLLIN, .revents = 0};
      if (::poll(&entry, 1, patience_ms(give_up)) != 1) {
        return testing::AssertionFailure()
               << "process " << pid << ", which the program started, has not ended within 30 s";
      }
      ::waitpid(pid, nullptr, WNOHANG);
    }
  }
  return testing::AssertionSuccess();
}

uint64_t Program::peak_bytes() const {
  std::ifstream status(fmt::format("/proc/{}/status", pid_));
  for (std::string text; std::getline(status, text);) {
    if (text.starts_with("VmHWM:")) return std::stoull(text.substr(6)) * 1024;
  }
  ADD_FAILURE() << "/proc/PID/status has no VmHWM";
  return 0;
}

void expect_one_sentence(const std::string& text) {
  EXPECT_TRUE(text.starts_with("peal: ")) << text;
  EXPECT_TRUE(text.ends_with("\n")) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
}

}  // namespace peal
