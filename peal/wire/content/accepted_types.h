// SPDX-License-Identifier: BSD-3-Clause
// The choice among media types by Accept (RFC 9110 12.5.1), as content_coding.h has it for codings. Pure; one thread at
// a time.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace peal {

class AcceptedTypes {
 public:
  // The value of one Accept field, which outlives this; of several, each. A malformed element is passed over.
  void take(std::string_view value);

  // How much the client likes a type, "text/html" or "text/plain; version=0.0.4", in thousandths; 0: it is not
  // acceptable. The most exact of the ranges that have it counts (RFC 9110 12.5.1). A parameter of a range must be the
  // type's where the type has one of that name; others are no condition: scrapers add some that say how, not what.
  int quality(std::string_view type) const { return judge(type).quality; }
  // Which of them to answer with: the one liked best; of several the one that is named most exactly; then the first.
  // Also the first where there is no such field and where none is acceptable: a server may answer all the same
  // (12.5.1).
  size_t choose(std::initializer_list<std::string_view> types) const;

 private:
  struct Range {
    std::string_view type;        // as it was sent
    std::string_view parameters;  // the weight among them
    int quality;
  };
  struct Verdict {
    int quality = 0;
    int exactness = -1;  // -1: no range has the type
  };
  Verdict judge(std::string_view type) const;

  std::vector<Range> ranges_;
  bool seen_ = false;
};

}  // namespace peal
