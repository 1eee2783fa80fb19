// SPDX-License-Identifier: BSD-3-Clause
// MultipartReader: a form with files, multipart/form-data (RFC 7578, RFC 2046 5.1), from bytes that arrive in pieces of
// any size: where each part begins and ends, and its bytes as they come. Where the bytes were cut changes nothing but
// the size of the pieces.
//
//   while (!bytes.empty()) {
//     bytes.remove_prefix(reader.step(bytes));
//     if (reader.event() == MultipartEvent::kPart) begin(reader.part());
//     if (reader.event() == MultipartEvent::kData) store(reader.data());
//   }
//
// It holds one boundary and the head of one part, never data: what may be the beginning of a boundary is the same as
// the boundary, so that it need not be kept. Each byte is looked at once. What stands before the first boundary and
// behind the last one is passed over. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peal {

struct MultipartLimits {
  size_t parts = 1000;           // of a form
  size_t head_bytes = 4 * 1024;  // of the head of one part
};

enum class MultipartEvent : uint8_t {
  kNone,  // all bytes were taken
  kPart,  // one begins: part()
  kData,  // some of it: data()
  kEnd,   // of the part
};

enum class MultipartFault : uint8_t {
  kNone,
  kBadBoundary,   // behind a boundary stands neither the end of its line nor "--"
  kBadHead,       // a line that is no field, no form-data, two names, or quotes that do not end
  kNoName,        // a part that does not say what it is called (RFC 7578 4.2)
  kEncoded,       // in a transfer encoding, which browsers do not use (RFC 7578 4.7)
  kTooManyParts,  // MultipartLimits::parts
  kHeadTooLarge,  // MultipartLimits::head_bytes
  kCutShort,      // the input ended before the last boundary
};
// A short plain phrase, as in "malformed form: {}".
std::string_view to_string(MultipartFault fault);
// The status to answer a faulty form with: 400 or 413.
int http_status(MultipartFault fault);

// What a part says of itself: text that the client chose.
struct MultipartPart {
  std::string name;  // of the control of the form; any bytes, UTF-8 from browsers
  // Of a file: what it was called where it came from, a path perhaps, and never one to be used here: safe_file_name().
  // Empty where the user chose no file.
  std::optional<std::string> file_name;
  std::string content_type;  // empty: text (RFC 7578 4.4)
};

class MultipartReader {
 public:
  // std::invalid_argument for a boundary that multipart_boundary() would not have returned.
  explicit MultipartReader(std::string_view boundary, const MultipartLimits& limits = {});

  // Takes bytes from the front, up to the end of the first event, and returns how many. After a fault, and behind the
  // last boundary, it takes all and says nothing.
  size_t step(std::string_view bytes);
  // What the last step() completed.
  MultipartEvent event() const { return event_; }
  // The part under way; until the step in which the next one begins. May be moved from.
  MultipartPart& part() { return part_; }
  // A view into the bytes or the reader, never empty; until the next step.
  std::string_view data() const { return data_; }
  // No more bytes will come: kCutShort unless the last boundary was among them, or there was another fault.
  void finish() {
    if (fault_ == MultipartFault::kNone && state_ != State::kEpilogue) fault_ = MultipartFault::kCutShort;
  }
  MultipartFault fault() const { return fault_; }
  // The last boundary has come.
  bool ended() const { return state_ == State::kEpilogue; }

 private:
  enum class State : uint8_t { kPreamble, kData, kBoundary, kHead, kEpilogue };

  size_t find_delimiter(std::string_view bytes) const;
  size_t take_data(std::string_view bytes);
  size_t take_boundary_end(std::string_view bytes);
  size_t take_head(std::string_view bytes);
  void report_data(std::string_view data);
  MultipartFault read_head();
  MultipartFault read_disposition(std::string_view value);

  const MultipartLimits limits_;
  const std::string delimiter_;  // CR LF "--" boundary
  std::string head_;             // of the part under way, so far
  MultipartPart part_;
  std::string_view data_;
  size_t parts_ = 0;
  uint8_t matched_ = 2;           // bytes of line_ that came last; at a beginning its CR LF need not
  uint8_t assumed_ = 2;           // of them did not come
  char last_after_boundary_ = 0;  // of what came behind a boundary
  State state_ = State::kPreamble;
  MultipartEvent event_ = MultipartEvent::kNone;
  MultipartFault fault_ = MultipartFault::kNone;
};

// The boundary that the value of a Content-Type field names. Nothing where it is not multipart/form-data, or the
// boundary is missing, longer than 70 bytes or made of others than RFC 2046 5.1.1 has.
std::optional<std::string> multipart_boundary(std::string_view content_type);

// What a file may be called that a client has named: the last component of its path, with slashes of both kinds,
// without controls and invisible characters (is_invisible_character(): U+202E would show "gpj.exe" as "exe.jpg"), in
// whole UTF-8 characters, at most 200 bytes long. It begins neither with a dot nor with a hyphen, and is never empty:
// it is "file" where nothing is left. Other people's files may have the same name.
std::string safe_file_name(std::string_view name);

}  // namespace peal
