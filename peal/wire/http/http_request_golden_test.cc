// SPDX-License-Identifier: BSD-3-Clause
// Compares peal with llhttp, the parser of Node, on the same requests (tests/goldens/http, made by
// tools/make_goldens.py). If the two disagree, a row of the table below must say why. A row that no request needs is an
// error too.
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tests/support/http/http_request_run.h>

namespace peal {
namespace {

struct Outcome {
  std::string verdict;  // "ok", "more", "closed", "upgrade" or "refused"
  std::string error;    // the fault if the verdict is "refused"
  int completed = 0;
  std::string seen;
};

struct Golden {
  std::string input;
  Outcome llhttp;
  uint32_t checksum = 0;  // the CRC-32 of the parts that llhttp reported
};

// Returns the CRC-32 that zlib's crc32() computes.
uint32_t checksum_of(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320U & (0U - (crc & 1)));
  }
  return ~crc;
}

std::string unescaped(std::string_view text) {
  std::string bytes;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      bytes.push_back(text[at]);
      continue;
    }
    switch (text[++at]) {
      case 'n': bytes += "\r\n"; break;
      case 'r': bytes.push_back('\r'); break;
      case 'l': bytes.push_back('\n'); break;
      case 'x':
        bytes.push_back(static_cast<char>(std::stoi(std::string(text.substr(at + 1, 2)), nullptr, 16)));
        at += 2;
        break;
      default: bytes.push_back(text[at]);
    }
  }
  return bytes;
}

std::vector<Golden> read_goldens() {
  std::ifstream file(PEAL_SOURCE_DIR "/tests/goldens/http/requests.txt");
  std::vector<Golden> goldens;
  std::map<std::string, std::string> errors;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# e")) {
      const size_t colon = line.find(':');
      errors[line.substr(2, colon - 2)] = line.substr(colon + 2);
      continue;
    }
    if (line.starts_with('#')) continue;
    const size_t verdict_end = line.find(' ');
    const size_t count_end = line.find(' ', verdict_end + 1);
    Golden golden;
    golden.llhttp.verdict = line.substr(0, verdict_end);
    golden.llhttp.completed = std::stoi(line.substr(verdict_end + 1, count_end - verdict_end - 1));
    golden.checksum = static_cast<uint32_t>(std::stoul(line.substr(count_end + 1, 8), nullptr, 16));
    golden.input = unescaped(std::string_view(line).substr(count_end + 10));
    if (const auto error = errors.find(golden.llhttp.verdict); error != errors.end()) {
      golden.llhttp.verdict = "refused";
      golden.llhttp.error = error->second;
    }
    goldens.push_back(std::move(golden));
  }
  return goldens;
}

// Returns the result of peal's parser in the format of tools/http_goldens.py.
Outcome read_with_peal(std::string_view input) {
  const HttpLimits limits;
  HttpRequestParser parser(limits);
  HttpRequestHead head;
  Outcome outcome;
  for (;;) {
    const HttpRequestStep step = parser.next(input, head);
    switch (step.event) {
      case HttpRequestEvent::kNeedMore: outcome.verdict = parser.is_idle() ? "ok" : "more"; return outcome;
      case HttpRequestEvent::kFailed:
        outcome.verdict = "refused";
        outcome.error = to_string(parser.error());
        return outcome;
      case HttpRequestEvent::kHead:
        outcome.seen += fmt::format("{} {} 1.{} {}\n", head.method_text(), head.target(), head.minor_version(),
                                    head.keep_alive() ? "keep" : "close");
        for (const HttpField& field : head.fields()) outcome.seen += fmt::format("{}:{}\n", field.name, field.value);
        break;
      case HttpRequestEvent::kBody: outcome.seen += step.body; break;
      case HttpRequestEvent::kEnd: {
        std::string_view lines = parser.trailers();
        for (HttpField field; next_http_field(lines, field);) {
          outcome.seen += fmt::format("trailer {}:{}\n", field.name, field.value);
        }
        outcome.seen += "\nend\n";
        ++outcome.completed;
        const bool is_taken_over = head.method() == HttpMethod::kConnect || !head.upgrade().empty();
        if (!head.keep_alive() || is_taken_over) {
          outcome.verdict = head.keep_alive() ? "upgrade" : "closed";
          return outcome;
        }
        break;
      }
    }
    input.remove_prefix(step.consumed);
  }
}

struct Explanation {
  std::string_view peal;    // the verdict of peal, or its error
  std::string_view llhttp;  // the verdict of llhttp, or its error; "*" means any
  std::string_view why;
};

constexpr Explanation kExplanations[] = {
    // peal is stricter.
    {"a line ends in LF without CR", "*", "llhttp passes over any LF in front of a request"},
    {"malformed request line", "*",
     "llhttp passes over any number of empty lines and lone CRs in front, takes two spaces before the version, and "
     "reads "
     "a line without version as HTTP/0.9"},
    {"invalid request target", "*",
     "llhttp takes a target character by character: CONNECT needs host and port, '*' is for OPTIONS, a fragment is "
     "never "
     "sent, user information is not to be (RFC 9112 3.2, RFC 9110 4.2.4)"},
    {"neither HTTP/1.0 nor HTTP/1.1", "*", "llhttp knows 0.9 and 2.0 as well, which are no HTTP/1 (RFC 9110 15.6.6)"},
    {"no Host", "*", "llhttp leaves Host to its users; a server must refuse (RFC 9112 3.2)"},
    {"invalid or repeated Host", "*", "the same"},
    {"invalid Transfer-Encoding", "*",
     "llhttp takes it in HTTP/1.0, where the framing must be treated as faulty (RFC 9112 6.1)"},
    {"unknown transfer coding", "*", "llhttp leaves codings before chunked to its users (RFC 9112 6.1: 501)"},
    {"unknown expectation", "*", "llhttp leaves Expect to its users (RFC 9110 10.1.1: 417)"},
    {"malformed chunk", "*", "llhttp takes an extension without a name, or with '=' and no value (RFC 9112 7.1.1)"},
    {"a body beyond the limit", "more", "llhttp has no limit and waits for 18446744073709551615 bytes"},
    // peal is more tolerant.
    {"more", "*", "a line's fault is named when the line has ended, so that no cut of the bytes changes the verdict"},
    {"ok", "Invalid HTTP version", "HTTP/1.2 is read as 1.1 (RFC 9110 2.5)"},
    {"closed", "Invalid HTTP version", "the same"},
    {"ok", "Invalid method encountered", "any token is a method to the parser; the router answers 405 or 501"},
    {"closed", "Invalid method encountered", "the same"},
    {"ok", "Invalid character in chunk size", "white space before ';' must be taken (RFC 9112 7.1.1, BWS)"},
    {"closed", "Invalid character in chunk size", "the same"},
    {"ok", "Invalid character in chunk extensions", "and behind it"},
    {"closed", "Invalid character in chunk extensions", "the same"},
    // Both accept the request but read it differently.
    {"closed", "ok", "close wins over keep-alive (RFC 9112 9.3); to llhttp the last one does"},
    {"upgrade", "upgrade", "llhttp does not read the body of a request that asks for another protocol"},
};

std::string describe(const Outcome& outcome) { return outcome.verdict == "refused" ? outcome.error : outcome.verdict; }

TEST(HttpRequestGoldens, every_disagreement_with_llhttp_is_explained) {
  const std::vector<Golden> goldens = read_goldens();
  ASSERT_GE(goldens.size(), 2000U);
  std::set<const Explanation*> needed;
  std::map<std::string, std::pair<int, std::string>> unexplained;
  int agreed_to_take = 0;
  int agreed_to_refuse = 0;
  for (const Golden& golden : goldens) {
    const Outcome peal = read_with_peal(golden.input);
    const Outcome& other = golden.llhttp;
    if (peal.verdict == other.verdict && peal.completed == other.completed) {
      if (peal.verdict == "refused") {
        ++agreed_to_refuse;
        continue;
      }
      if (checksum_of(peal.seen) == golden.checksum) {
        ++agreed_to_take;
        continue;
      }
    }
    const auto* row = std::ranges::find_if(kExplanations, [&](const Explanation& item) {
      return item.peal == describe(peal) && (item.llhttp == "*" || item.llhttp == describe(other));
    });
    if (row != std::end(kExplanations)) {
      needed.insert(row);
    } else {
      auto& [count, example] = unexplained[describe(peal) + " / " + describe(other)];
      ++count;
      example = golden.input + "\n" + peal.seen;
    }
  }
  for (const auto& [which, what] : unexplained) {
    ADD_FAILURE() << what.first << " times " << which << ", as in\n" << what.second;
  }
  for (const Explanation& item : kExplanations) {
    EXPECT_TRUE(needed.contains(&item)) << item.peal << " / " << item.llhttp << " explains nothing";
  }
  EXPECT_GT(agreed_to_take, 800) << "of " << goldens.size();
  EXPECT_GT(agreed_to_refuse, 800) << "of " << goldens.size();
}

}  // namespace
}  // namespace peal
