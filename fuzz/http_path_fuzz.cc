// SPDX-License-Identifier: BSD-3-Clause
// Paths and queries from any text. A path that is accepted must stay inside the root, and normalizing it again must not
// change it. A query must be read like a form.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/forms/http_form.h>
#include <peal/wire/uri/http_path.h>

namespace {

// Returns whether a file server that walks the path segment by segment would ever leave its root folder.
bool leaves_root(std::string_view path) {
  int depth = 0;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (segment == "..") --depth;
    if (depth < 0) return true;
    if (!segment.empty() && segment != "." && segment != "..") ++depth;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string storage;
  if (const auto path = peal::normalize_http_path(input, storage)) {
    PEAL_ASSERT(path->starts_with('/') && path->size() <= input.size(), "the path {} was made from {}", *path, input);
    PEAL_ASSERT(!leaves_root(*path), "{} leaves the root", *path);
    for (const std::string_view dots : {"/../", "/./"})
      PEAL_ASSERT(!path->contains(dots), "{} is left in {}", dots, *path);
    PEAL_ASSERT(!path->ends_with("/..") && !path->ends_with("/."), "{} ends in dots", *path);
    if (input.find('%') != std::string_view::npos) {
      PEAL_ASSERT(path->find('\0') == std::string_view::npos || input.find('\0') != std::string_view::npos,
                  "the path contains a decoded NUL");
    } else {
      std::string again;
      PEAL_ASSERT(*peal::normalize_http_path(*path, again) == *path, "{} changes if it is normalized again", *path);
    }
  }
  std::string decoded;
  peal::append_http_decoded(input, decoded);
  PEAL_ASSERT(decoded.size() <= input.size(), "{} bytes were decoded from {}", decoded.size(), input.size());
  size_t bytes = 0;
  const peal::HttpForm form = peal::HttpForm::parse(std::string(input)).value();
  size_t fields = 0;
  for (const auto& pair : peal::HttpQuery(input)) {
    bytes += pair.key.size() + pair.value.size() + 1;
    std::string key;
    peal::append_http_decoded(pair.key, key);
    const auto found = peal::HttpQuery(input).find(key, storage);
    PEAL_ASSERT(found.has_value(), "{} is not found", key);
    PEAL_ASSERT(form.field(fields++).name == key && form.find(key) == found, "{} has another value in a form", key);
  }
  PEAL_ASSERT(fields == form.size(), "the form has {} fields, the query has {}", form.size(), fields);
  PEAL_ASSERT(bytes <= input.size() + 1, "the pairs have {} bytes, the input has {}", bytes, input.size());
  return 0;
}
