// SPDX-License-Identifier: BSD-3-Clause
// AcceptedTypes: chooses the media type of an answer by the Accept fields of a request (RFC 9110 12.5.1).
// AcceptedCodings in content_coding.h does this for content codings. No I/O; one thread at a time.
//
//   AcceptedTypes accepted;
//   accepted.take("text/html;q=0.5, application/json");
//   accepted.choose({"text/html", "application/json"});  // 1
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace peal {

class AcceptedTypes {
 public:
  // Reads the value of one Accept field. If the request has several, call take() with each of them. The object keeps
  // views of `value`, so the bytes must outlive the object. A malformed element of the list is ignored.
  void take(std::string_view value);

  // Returns the weight that the client gives to a type such as "text/html" or "text/plain; version=0.0.4". The weight
  // is in thousandths: 1000 is the highest, 0 means that the client does not accept the type. Without an Accept field
  // every type has 1000. If several ranges match the type, the most specific range decides (RFC 9110 12.5.1).
  //
  // A range does not match if it and the type have a parameter of one name with different values. A parameter that only
  // the range has is ignored, because metrics scrapers add parameters that do not describe the type.
  int quality(std::string_view type) const { return judge(type).quality; }

  // Returns the index in `types` of the type to answer with: the type with the highest quality(). Among types of equal
  // quality, the one that a media range of the client names most specifically is chosen, and otherwise the first.
  // Returns 0 if the client accepts none of the types, because a server may then send a type that was not asked for
  // (RFC 9110 12.5.1).
  size_t choose(std::initializer_list<std::string_view> types) const;

 private:
  struct Range {
    std::string_view type;        // as the client wrote it, without parameters
    std::string_view parameters;  // from the first semicolon on, the weight included
    int quality;
  };
  struct Verdict {
    int quality = 0;
    int exactness = -1;  // how specific the range that matched is; -1: no range matched
  };
  // Returns the quality and the exactness of the most specific media range that matches the type.
  Verdict judge(std::string_view type) const;

  std::vector<Range> ranges_;
  bool seen_ = false;  // true after the first take()
};

}  // namespace peal
