// SPDX-License-Identifier: BSD-3-Clause
// Forms with files. What a reader returns must not depend on how the bytes are cut. A form that was read and then
// written again must be read as the same form. The first byte of an input chooses the length of the pieces. The
// boundary is "B".
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/forms/multipart_reader.h>
#include <peal/wire/utf8.h>

namespace peal {
namespace {

constexpr MultipartLimits kLimits = {.parts = 20, .head_bytes = 300};

struct WhatIsSaid {
  std::string events;
  std::string form;  // the form, written again
  bool sound = false;
};

WhatIsSaid what_is_said(std::string_view input, size_t piece_bytes) {
  MultipartReader reader("B", kLimits);
  WhatIsSaid said;
  for (size_t at = 0; at < input.size(); at += piece_bytes) {
    const std::string piece(input.substr(at, piece_bytes));  // a copy, so the sanitizer finds reads beyond its end
    std::string_view left = piece;
    while (!left.empty()) {
      const size_t taken = reader.step(left);
      PEAL_ASSERT(taken > 0 || reader.event() != MultipartEvent::kNone, "step() took nothing and has no event");
      left.remove_prefix(taken);
      const MultipartPart& part = reader.part();
      switch (reader.event()) {
        case MultipartEvent::kNone: PEAL_ASSERT(left.empty(), "{} bytes were not taken", left.size()); break;
        case MultipartEvent::kPart: {
          const std::string name = safe_file_name(part.file_name.value_or(""));
          PEAL_ASSERT(!name.empty() && name.size() <= 200 && name.find('/') == std::string::npos && is_utf8(name) &&
                          name.front() != '.',
                      "{} is no safe file name", name);
          said.events.append("[" + part.name + "|" + part.file_name.value_or("-") + "|" + part.content_type + "]");
          said.form.append("--B\r\nContent-Disposition: form-data; name=a\r\n\r\n");
          break;
        }
        case MultipartEvent::kData:
          PEAL_ASSERT(!reader.data().empty(), "a data event has no data");
          said.events.append(reader.data());
          said.form.append(reader.data());
          break;
        case MultipartEvent::kEnd:
          said.events.append("\1end");
          said.form.append("\r\n");
          break;
      }
    }
  }
  reader.finish();
  PEAL_ASSERT(reader.ended() || reader.fault() != MultipartFault::kNone, "the form has neither an end nor a fault");
  said.sound = reader.fault() == MultipartFault::kNone;
  said.events.append(to_string(reader.fault()));
  said.form.append("--B--");
  return said;
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto whole = peal::what_is_said(input, std::max<size_t>(input.size(), 1));
  const size_t piece_bytes = size_t{data[0]} + 1;
  PEAL_ASSERT(peal::what_is_said(input, piece_bytes).events == whole.events, "pieces of {} bytes are read differently",
              piece_bytes);
  if (!whole.sound) return 0;
  const auto again = peal::what_is_said(whole.form, piece_bytes);
  PEAL_ASSERT(again.sound && again.form == whole.form, "the form is read differently after it was written");
  peal::multipart_boundary(input);
  return 0;
}
