// SPDX-License-Identifier: BSD-3-Clause
// MultipartReader: reads a form with files, multipart/form-data (RFC 7578, RFC 2046 5.1), from bytes that arrive in
// pieces of any size. It reports where each part begins and ends, and the data of the part as they arrive. How the
// input is cut into pieces changes only the sizes of the pieces of data.
//
//   while (!bytes.empty()) {
//     bytes.remove_prefix(reader.step(bytes));
//     if (reader.event() == MultipartEvent::kPart) begin(reader.part());
//     if (reader.event() == MultipartEvent::kData) store(reader.data());
//   }
//
// When the input has ended, call finish() and look at fault().
//
// The reader stores the boundary and the head of one part, but no data. Bytes that may begin a boundary need not be
// stored either: if they turn out to be data, they equal the beginning of the boundary. Each byte is looked at once.
// Bytes before the first boundary and after the last boundary are ignored. No I/O; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peal {

// Limits that protect a server from hostile forms.
struct MultipartLimits {
  size_t parts = 1000;           // the most parts of a form
  size_t head_bytes = 4 * 1024;  // the most bytes of the head of one part, line ends included
};

// The result of one step().
enum class MultipartEvent : uint8_t {
  kNone,  // all bytes were taken without an event
  kPart,  // a part begins, and part() describes it
  kData,  // data() is the next piece of the part's data
  kEnd,   // the part has ended
};

// The reason why a form is refused.
enum class MultipartFault : uint8_t {
  kNone,
  kBadBoundary,   // a boundary is followed neither by the end of its line nor by "--"
  kBadHead,       // the head of a part is malformed, names another type than form-data, or says something twice
  kNoName,        // a part has no Content-Disposition field or no name in it (RFC 7578 4.2)
  kEncoded,       // a part has a Content-Transfer-Encoding such as base64, which browsers do not use (RFC 7578 4.7)
  kTooManyParts,  // the form exceeds MultipartLimits::parts
  kHeadTooLarge,  // the head of a part exceeds MultipartLimits::head_bytes
  kCutShort,      // the input ended before the last boundary
};

// Returns a short phrase for a message such as "malformed form: {}".
std::string_view to_string(MultipartFault fault);

// Returns the status of the answer to a form with this fault: 413 for kTooManyParts and kHeadTooLarge, otherwise 400.
int http_status(MultipartFault fault);

// The head of a part. The client chose every text in it.
struct MultipartPart {
  // The name of the form's control. The name may have any bytes; browsers send UTF-8.
  std::string name;

  // The name that a file had on the client, perhaps with a path. Never open a file by this name; safe_file_name()
  // returns a safe one. `file_name` is empty if the user chose no file, and nullopt if the part is not a file.
  std::optional<std::string> file_name;

  // The value of the Content-Type field. Empty if the part has no such field; the data are then text (RFC 7578 4.4).
  std::string content_type;
};

class MultipartReader {
 public:
  // Throws std::invalid_argument if `boundary` is not one that multipart_boundary() could return.
  explicit MultipartReader(std::string_view boundary, const MultipartLimits& limits = {});

  // Reads bytes from the front up to the first event and returns how many bytes it read. Pass the remaining bytes to
  // the next step(). After a fault or after the last boundary, step() reads all bytes without an event.
  size_t step(std::string_view bytes);

  // Returns the event of the last step().
  MultipartEvent event() const { return event_; }

  // Returns the head of the current part. The head is valid from kPart until the step() that begins the next part. The
  // caller may move the strings out.
  MultipartPart& part() { return part_; }

  // Returns the data that the last step() has read. May be called only if event() is kData; the data are then not
  // empty. The view points into the bytes given to step() or into the reader, and is valid until the next step().
  std::string_view data() const { return data_; }

  // Tells the reader that the input has ended. Sets the fault to kCutShort if the last boundary did not arrive and
  // there is no other fault.
  void finish() {
    if (fault_ == MultipartFault::kNone && state_ != State::kEpilogue) fault_ = MultipartFault::kCutShort;
  }

  // Returns the first fault, or kNone.
  MultipartFault fault() const { return fault_; }

  // True if the last boundary has been read.
  bool ended() const { return state_ == State::kEpilogue; }

 private:
  enum class State : uint8_t {
    kPreamble,  // before the first boundary
    kData,      // in the data of a part
    kBoundary,  // after the text of a boundary, before the end of its line
    kHead,      // in the head of a part
    kEpilogue,  // after the last boundary
  };

  // Returns the first position at which the delimiter begins, or may begin if the bytes end there.
  size_t find_delimiter(std::string_view bytes) const;

  // take_data() reads bytes in the states kPreamble and kData, take_boundary_end() in kBoundary, and take_head() in
  // kHead. Each function returns how many bytes it has read.
  size_t take_data(std::string_view bytes);
  size_t take_boundary_end(std::string_view bytes);
  size_t take_head(std::string_view bytes);

  // Sets the event to kData, unless the data are empty or stand before the first boundary.
  void report_data(std::string_view data);
  // Reads the complete head of a part into part_ and sets the event to kPart.
  MultipartFault read_head();
  // Reads the value of a Content-Disposition field into part_.
  MultipartFault read_disposition(std::string_view value);

  const MultipartLimits limits_;
  const std::string delimiter_;  // CR LF "--" boundary
  std::string head_;             // the head of the current part as far as it has arrived
  MultipartPart part_;
  std::string_view data_;
  size_t parts_ = 0;  // how many parts have begun

  // How many bytes of delimiter_ stand at the end of the input so far. At the start of the form and after the head of a
  // part, a boundary needs no CR LF before it, so these two bytes count as matched.
  uint8_t matched_ = 2;
  uint8_t assumed_ = 2;           // how many of matched_ did not arrive
  char last_after_boundary_ = 0;  // the last byte that followed the text of a boundary; 0: none yet
  State state_ = State::kPreamble;
  MultipartEvent event_ = MultipartEvent::kNone;
  MultipartFault fault_ = MultipartFault::kNone;
};

// Returns the boundary that the value of a Content-Type field names. Returns nullopt if the type is not
// multipart/form-data, or if the boundary is missing, longer than 70 bytes, or has bytes that RFC 2046 5.1.1 does not
// allow.
std::optional<std::string> multipart_boundary(std::string_view content_type);

// Makes a safe name for a file of the name that a client sent. The result is the last component of the path, after the
// last slash or backslash, with these changes:
// - Controls and invisible characters are removed (is_invisible_character()). For example, U+202E would show "gpj.exe"
//   as "exe.jpg".
// - A byte that is not UTF-8 becomes an underscore.
// - Dots, hyphens and spaces at the front are removed.
// - The name ends after at most 200 bytes, at the end of a character.
//
// The result is "file" if nothing is left. Two files may get the same name, so the caller must avoid collisions.
std::string safe_file_name(std::string_view name);

}  // namespace peal
