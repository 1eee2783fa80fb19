// SPDX-License-Identifier: BSD-3-Clause
// The process's log: one line a call, to stderr unless told otherwise. Every function may be called from any thread.
//   PEAL_LOG_WARN("accept on {} failed: {}", address, error.message());
// The format is checked when compiled; a level that is off costs one relaxed load and evaluates no argument.
// Text among the arguments may be anybody's: in it whatever could end the line or drive a terminal is written as \xHH
// (printable.h). Newlines stay in the format itself and in LogLines; a type with a fmt::formatter of its own answers
// for what that writes, of which newlines stay and other controls do not. A line is in the kernel's (or the sink's)
// hands before the call returns, so none is lost at exit, abort or a crash; that is a system call a line: what may
// happen often goes through a LogLimiter.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <peal/base/callback.h>
#include <peal/base/result.h>

namespace peal {

enum class LogLevel : int { kTrace, kDebug, kInfo, kWarn, kError, kCritical, kOff };

namespace detail {
inline constinit std::atomic<LogLevel> log_level{LogLevel::kInfo};
}  // namespace detail

inline LogLevel log_level() { return detail::log_level.load(std::memory_order_relaxed); }
inline bool log_enabled(LogLevel level) { return level >= log_level(); }
// Lines below `level` are dropped. The default is kInfo.
void set_log_level(LogLevel level);
// "trace", "debug", "info", "warn", "error", "critical", "off"; anything else is nothing.
std::optional<LogLevel> parse_log_level(std::string_view name);
std::string_view to_string(LogLevel level);

// An argument of several lines that the program made itself: a stack trace. The text outlives the call.
struct LogLines {
  std::string_view text;
};

struct LogRecord {
  LogLevel level;
  std::string_view text;  // the formatted message, no time, no newline at its end; dies with the call
  const char* file;       // as __FILE__ spells it
  int line;
};

// Called by one thread at a time, on the thread that logs. A line logged from inside a sink, and a line whose sink
// throws, goes to stderr. An empty sink means stderr.
using LogSink = Callback<void(const LogRecord&)>;
void set_log_sink(LogSink sink);
// Appends to the file, creating it if need be. On error the log stays where it was.
Result<void> set_log_file(const std::string& path);

namespace detail {

void log_line(LogLevel level, const char* file, int line, fmt::string_view format, fmt::format_args arguments) noexcept;

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

#define PEAL_LOG(level, ...)                                                                                          \
  (__builtin_expect(::peal::log_enabled(level), 0) ? ::peal::detail::log_with(level, __FILE__, __LINE__, __VA_ARGS__) \
                                                   : static_cast<void>(0))
#define PEAL_LOG_TRACE(...) PEAL_LOG(::peal::LogLevel::kTrace, __VA_ARGS__)
#define PEAL_LOG_DEBUG(...) PEAL_LOG(::peal::LogLevel::kDebug, __VA_ARGS__)
#define PEAL_LOG_INFO(...) PEAL_LOG(::peal::LogLevel::kInfo, __VA_ARGS__)
#define PEAL_LOG_WARN(...) PEAL_LOG(::peal::LogLevel::kWarn, __VA_ARGS__)
#define PEAL_LOG_ERROR(...) PEAL_LOG(::peal::LogLevel::kError, __VA_ARGS__)
#define PEAL_LOG_CRITICAL(...) PEAL_LOG(::peal::LogLevel::kCritical, __VA_ARGS__)
