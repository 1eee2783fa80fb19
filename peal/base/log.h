// SPDX-License-Identifier: BSD-3-Clause
// The log of the process. Each call writes one line, to stderr unless set_log_sink() or set_log_file() was called. All
// functions may be called from any thread.
//   PEAL_LOG_WARN("accept on {} failed: {}", address, error.message());
//
// The compiler checks the format. If a level is off, a log call costs one relaxed load and evaluates no argument.
//
// Text arguments may contain a peer's data. Bytes in them that could end the line or control a terminal are written as
// \xHH (printable.h). Newlines stay only in the format itself, in LogLines and in the output of an argument's own
// fmt::formatter; other control characters are escaped there too.
//
// The line has been passed to the kernel, or to the sink, when the call returns. Therefore no line is lost at exit, at
// abort() or in a crash. Each line costs one system call, so use a LogLimiter for events that can be frequent.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <peal/base/callback.h>
#include <peal/base/result.h>

namespace peal {

// The severity of a line, lowest first. kOff is for set_log_level() only and turns the log off.
enum class LogLevel : int { kTrace, kDebug, kInfo, kWarn, kError, kCritical, kOff };

namespace detail {
inline constinit std::atomic<LogLevel> log_level{LogLevel::kInfo};
}  // namespace detail

// Returns the level that set_log_level() has set.
inline LogLevel log_level() { return detail::log_level.load(std::memory_order_relaxed); }

// True if a line of this level would be written.
inline bool log_enabled(LogLevel level) { return level >= log_level(); }

// Drops all lines below `level` from now on. The default is kInfo.
void set_log_level(LogLevel level);

// Returns the level that has this name: "trace", "debug", "info", "warn", "error", "critical" or "off". Returns nullopt
// for every other text.
std::optional<LogLevel> parse_log_level(std::string_view name);

// Returns the name of the level, as parse_log_level() reads it.
std::string_view to_string(LogLevel level);

// A log argument whose newlines are kept. Use it only for text that the program made itself, such as a stack trace. The
// text must stay valid until the log call returns.
struct LogLines {
  std::string_view text;
};

// One line of the log, as a sink receives it.
struct LogRecord {
  LogLevel level;
  std::string_view text;  // the message, without time and without a final newline; valid until the sink returns
  const char* file;       // the value of __FILE__ at the log call
  int line;
};

// The function that receives each line, on the thread that logs the line. A lock ensures that only one thread at a time
// calls the sink.
using LogSink = Callback<void(const LogRecord&)>;

// Sends all further lines to `sink`, or to stderr if `sink` is empty. If the sink throws, or logs a line itself, that
// line goes to stderr. A sink must not call set_log_sink() (asserted).
void set_log_sink(LogSink sink);

// Appends all further lines to the file at `path`, which is created if it does not exist. If the file cannot be opened,
// returns the error of open(2) and leaves the target of the log unchanged.
Result<void> set_log_file(const std::string& path);

namespace detail {

// Formats one line and writes it.
void log_line(LogLevel level, const char* file, int line, fmt::string_view format, fmt::format_args arguments) noexcept;

// Packs the arguments of PEAL_LOG for log_line(). The function is out of line, so that the code at each PEAL_LOG stays
// small.
template <class... Args>
[[gnu::cold, gnu::noinline]] void log_with(LogLevel level, const char* file, int line,
                                           fmt::format_string<Args...> format, Args&&... args) {
  log_line(level, file, line, format, fmt::make_format_args(args...));
}

}  // namespace detail
}  // namespace peal

template <>
struct fmt::formatter<peal::LogLines> : fmt::formatter<fmt::string_view> {
  fmt::format_context::iterator format(const peal::LogLines& lines, fmt::format_context& context) const;
};

// PEAL_LOG(level, format, arguments...) is an expression of type void. The format follows fmt. The arguments are
// evaluated only if lines of this level are written.
#define PEAL_LOG(level, ...)                                                                                          \
  (__builtin_expect(::peal::log_enabled(level), 0) ? ::peal::detail::log_with(level, __FILE__, __LINE__, __VA_ARGS__) \
                                                   : static_cast<void>(0))
#define PEAL_LOG_TRACE(...) PEAL_LOG(::peal::LogLevel::kTrace, __VA_ARGS__)
#define PEAL_LOG_DEBUG(...) PEAL_LOG(::peal::LogLevel::kDebug, __VA_ARGS__)
#define PEAL_LOG_INFO(...) PEAL_LOG(::peal::LogLevel::kInfo, __VA_ARGS__)
#define PEAL_LOG_WARN(...) PEAL_LOG(::peal::LogLevel::kWarn, __VA_ARGS__)
#define PEAL_LOG_ERROR(...) PEAL_LOG(::peal::LogLevel::kError, __VA_ARGS__)
#define PEAL_LOG_CRITICAL(...) PEAL_LOG(::peal::LogLevel::kCritical, __VA_ARGS__)
