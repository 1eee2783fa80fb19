// SPDX-License-Identifier: BSD-3-Clause
// The log is built on spdlog, and no other file uses it. One logger has one sink, which holds the current target under
// a mutex. The logger is never destroyed, so destructors of static objects and threads that end late can still log.
//
// Lines are written with write(2) and not through stdio: at exit, stdio can write a line twice that another thread is
// writing at that moment.
#include <peal/base/log.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/dist_sink.h>

#include <peal/base/assert.h>
#include <peal/base/fd.h>
#include <peal/base/printable.h>
#include <peal/base/this_thread.h>

namespace peal {
namespace {

constexpr std::array<std::string_view, 7> kLevelNames{"trace", "debug", "info", "warn", "error", "critical", "off"};
static_assert(static_cast<int>(LogLevel::kOff) == static_cast<int>(spdlog::level::off));

// True while this thread writes a log line and therefore holds the mutex of the log. If the thread logged another line
// meanwhile, it would wait for itself.
constinit thread_local bool inside_log = false;

// Writes a line that cannot go to the log target. If stderr fails too, the line is lost.
void print_to_stderr(LogLevel level, std::string_view text) {
  write_whole(STDERR_FILENO, fmt::format("{} {}\n", to_string(level), text));
}

// A sink that writes each line to the file that it owns, or to stderr if it owns no file.
class FdSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FdSink(Fd file = {}) : file_(std::move(file)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::details::log_msg own = message;
    own.thread_id = static_cast<size_t>(current_thread_id());  // after fork(2) spdlog still has the parent's id
    spdlog::memory_buf_t line;
    formatter_->format(own, line);
    if (!write_whole(file_ ? file_.get() : STDERR_FILENO, {line.data(), line.size()}) && file_)
      throw std::system_error(errno_code(errno));
  }
  void flush_() override {}

  const Fd file_;
};

class CallbackSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit CallbackSink(LogSink callback) : callback_(std::move(callback)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    callback_({static_cast<LogLevel>(message.level),
               {message.payload.data(), message.payload.size()},
               message.source.filename,
               message.source.line});
  }
  void flush_() override {}

  LogSink callback_;
};

class Logger {
 public:
  Logger() { set_target(std::make_shared<FdSink>()); }

  void set_target(spdlog::sink_ptr target) {
    PEAL_ASSERT(!inside_log, "a log sink must not call set_log_sink() or set_log_file()");
    target->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%fZ %-8l %t %s:%# %v",
                                                                      spdlog::pattern_time_type::utc));
    inside_log = true;  // the old target is destroyed below, and its destructor may log
    target_->set_sinks({std::move(target)});
    inside_log = false;
  }

  void write(const spdlog::details::log_msg& message) { target_->log(message); }

 private:
  std::shared_ptr<spdlog::sinks::dist_sink_mt> target_ = std::make_shared<spdlog::sinks::dist_sink_mt>();
};

using Argument = fmt::basic_format_arg<fmt::format_context>;

// Returns the characters of a format argument that is a string. Returns an empty view if the argument has another type.
std::string_view text_of(const Argument& argument) {
  return fmt::visit_format_arg(
      []<class Value>(const Value& value) -> std::string_view {
        if constexpr (std::is_same_v<Value, fmt::string_view>) return {value.data(), value.size()};
        if constexpr (std::is_same_v<Value, char>) return {&value, 1};
        if constexpr (std::is_same_v<Value, const char*>) {
          if (value != nullptr) return value;
        }
        return {};
      },
      argument);
}

// True if no string among the arguments contains a byte that has to be escaped.
bool are_printable(fmt::format_args arguments) {
  for (int at = 0; const Argument argument = arguments.get(at); ++at) {
    if (!is_printable(text_of(argument))) return false;
  }
  return true;
}

// Appends the formatted line to `text`, with all string arguments escaped. Returns false if the format refers to
// arguments by name, because they cannot be escaped one by one then.
bool format_made_printable(fmt::memory_buffer& text, fmt::string_view format, fmt::format_args arguments) {
  std::vector<Argument> all;
  std::deque<std::string> changed;
  for (int at = 0; Argument argument = arguments.get(at); ++at) {
    if (const std::string_view raw = text_of(argument); !is_printable(raw)) {
      const std::string& plain = changed.emplace_back(printable(raw));
      argument = fmt::format_args(fmt::make_format_args(plain)).get(0);
    }
    all.push_back(argument);
  }
  try {
    fmt::vformat_to(fmt::appender(text), format, fmt::format_args(all.data(), static_cast<int>(all.size())));
  } catch (const fmt::format_error&) {
    text.clear();
    return false;
  }
  return true;
}

// Appends the formatted line to `text` and escapes the bytes that are not printable. Memory is allocated only if
// something has to be escaped, because the line may report that memory is short.
//
// Newlines of the format itself are kept. If the arguments could not be escaped one by one, newlines are escaped too,
// because each newline may come from an argument.
void format_printable(fmt::memory_buffer& text, fmt::string_view format, fmt::format_args arguments) {
  const bool are_plain = are_printable(arguments);
  const bool made_plain = !are_plain && format_made_printable(text, format, arguments);
  if (!made_plain) fmt::vformat_to(fmt::appender(text), format, arguments);
  const std::string_view whole(text.data(), text.size());
  const PrintableAs kind = are_plain || made_plain ? PrintableAs::kLines : PrintableAs::kLine;
  if (is_printable(whole, kind)) return;
  const std::string plain = printable(whole, kind);
  text.clear();
  text.append(plain);
}

// Returns the logger of the process. It is never destroyed.
Logger& logger() {
  static Logger* const logger = new Logger;
  return *logger;
}

}  // namespace

void set_log_level(LogLevel level) { detail::log_level.store(level, std::memory_order_relaxed); }

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (std::size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

std::string_view to_string(LogLevel level) {
  const auto index = static_cast<std::size_t>(level);
  PEAL_ASSERT(index < kLevelNames.size(), "no log level has the number {}", index);
  return kLevelNames[index];
}

void set_log_sink(LogSink sink) {
  if (sink) return logger().set_target(std::make_shared<CallbackSink>(std::move(sink)));
  logger().set_target(std::make_shared<FdSink>());
}

Result<void> set_log_file(const std::string& path) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file) return fail(errno);
  logger().set_target(std::make_shared<FdSink>(std::move(file)));
  return {};
}

void detail::log_line(LogLevel level, const char* file, int line, fmt::string_view format,
                      fmt::format_args arguments) noexcept {
  fmt::memory_buffer text;
  try {
    format_printable(text, format, arguments);
  } catch (const std::exception& error) {
    text.clear();
    fmt::format_to(fmt::appender(text), "{} (cannot be formatted: {})", format, error.what());
  }
  if (inside_log) return print_to_stderr(level, {text.data(), text.size()});
  try {
    Logger& log = logger();
    inside_log = true;
    log.write({spdlog::source_loc(file, line, ""),
               "peal",
               static_cast<spdlog::level::level_enum>(level),
               {text.data(), text.size()}});
  } catch (...) {
    print_to_stderr(level, {text.data(), text.size()});
  }
  inside_log = false;
}

}  // namespace peal

// This function is not inline in log.h, because it calls a function that fmt/core.h only declares. log.h does not
// include fmt/format.h, which defines it.
fmt::format_context::iterator fmt::formatter<peal::LogLines>::format(const peal::LogLines& lines,
                                                                     fmt::format_context& context) const {
  return fmt::formatter<fmt::string_view>::format({lines.text.data(), lines.text.size()}, context);
}
