// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/uri/http_path.h>

#include <algorithm>

#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

// Returns the byte that the escape at `at` stands for, or -1 if no valid escape begins there. A '%' must stand at `at`.
int escaped_byte(std::string_view text, size_t at) {
  if (text.size() - at < 3) return -1;
  const int upper = detail::hex_value(text[at + 1]);
  const int lower = detail::hex_value(text[at + 2]);
  return upper < 0 || lower < 0 ? -1 : upper * 16 + lower;
}

// Decodes one segment of a path and appends the bytes to `out`.
std::expected<void, HttpPathError> append_segment(std::string_view segment, std::string& out) {
  for (size_t at = 0; at < segment.size(); ++at) {
    if (segment[at] != '%') {
      out.push_back(segment[at]);
      continue;
    }
    const int byte = escaped_byte(segment, at);
    if (byte < 0) return std::unexpected(HttpPathError::kBadEscape);
    if (byte == '/') return std::unexpected(HttpPathError::kEncodedSlash);
    if (byte < 0x20 || byte == 0x7f) return std::unexpected(HttpPathError::kEncodedControl);
    out.push_back(static_cast<char>(byte));
    at += 2;
  }
  return {};
}

}  // namespace

std::string_view to_string(HttpPathError error) {
  switch (error) {
    case HttpPathError::kNotAbsolute: return "the path does not begin with a slash";
    case HttpPathError::kBadEscape: return "the path has a percent sign without two hexadecimal digits";
    case HttpPathError::kEncodedSlash: return "the path has an encoded slash (%2F)";
    case HttpPathError::kEncodedControl: return "the path has an encoded control character";
    case HttpPathError::kAboveRoot: return "the path goes above the root with '..'";
  }
  return "unknown error";
}

std::expected<std::string_view, HttpPathError> normalize_http_path(std::string_view path, std::string& storage) {
  if (!path.starts_with('/')) return std::unexpected(HttpPathError::kNotAbsolute);
  // A path without '%' and "/." has no escapes and no "." or ".." segments. So there is nothing to decode or resolve.
  if (path.find('%') == std::string_view::npos && path.find("/.") == std::string_view::npos) return path;
  storage.clear();
  size_t at = 0;
  while (at < path.size()) {  // `at` is a slash
    const size_t next = std::min(path.find('/', at + 1), path.size());
    const size_t begin = storage.size();
    storage.push_back('/');
    const auto appended = append_segment(path.substr(at + 1, next - at - 1), storage);
    if (!appended) return std::unexpected(appended.error());
    const std::string_view segment = std::string_view(storage).substr(begin + 1);
    if (segment == "." || segment == "..") {
      if (segment == ".." && begin == 0) return std::unexpected(HttpPathError::kAboveRoot);
      storage.resize(segment == "." ? begin : storage.rfind('/', begin - 1));
      if (next == path.size()) storage.push_back('/');  // the result of "/a/.." ends with a slash
    }
    at = next;
  }
  return storage;
}

void append_http_escaped(std::string_view text, std::string& out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kUnreserved = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  for (const char byte : text) {
    if (kUnreserved.contains(byte)) {
      out += byte;
      continue;
    }
    const auto value = static_cast<unsigned char>(byte);
    out += '%';
    out += kDigits[value >> 4];
    out += kDigits[value & 15];
  }
}

void append_http_decoded(std::string_view text, std::string& out, bool plus_is_space) {
  for (size_t at = 0; at < text.size(); ++at) {
    const int byte = text[at] == '%' ? escaped_byte(text, at) : -1;
    if (byte >= 0) {
      out.push_back(static_cast<char>(byte));
      at += 2;
    } else {
      out.push_back(text[at] == '+' && plus_is_space ? ' ' : text[at]);
    }
  }
}

HttpQuery::Iterator& HttpQuery::Iterator::operator++() {
  std::string_view pair;
  do {
    if (rest_.empty()) {
      done_ = true;
      return *this;
    }
    const size_t end = std::min(rest_.find('&'), rest_.size());
    pair = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
  } while (pair.empty());
  const size_t equals = std::min(pair.find('='), pair.size());
  pair_ = {pair.substr(0, equals), pair.substr(std::min(equals + 1, pair.size()))};
  return *this;
}

std::optional<std::string_view> HttpQuery::find(std::string_view key, std::string& storage) const {
  const auto decoded = [&](std::string_view text) -> std::string_view {
    if (text.find_first_of("%+") == std::string_view::npos) return text;
    storage.clear();
    append_http_decoded(text, storage);
    return storage;
  };
  for (const Pair& pair : *this) {
    if (decoded(pair.key) == key) return decoded(pair.value);
  }
  return std::nullopt;
}

}  // namespace peal
