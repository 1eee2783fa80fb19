// SPDX-License-Identifier: BSD-3-Clause
// What a server of SMTP (RFC 5321) makes of a client's lines: answers, and mail. It knows no connection. In the clear a
// client may only ask for TLS (STARTTLS, RFC 3207); over it a new session begins, which knows nothing of the old one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peal::examples {

struct SmtpMail {
  std::string from;             // "<somebody@example.org>"
  std::vector<std::string> to;  // the same
  std::string text;             // lines that end with CR LF
};

// What is to be done when the answer is sent.
enum class SmtpNext : uint8_t { kGoOn, kStartTls, kClose };

struct SmtpAnswer {
  std::string text = {};  // empty: none is due
  SmtpNext next = SmtpNext::kGoOn;
  std::optional<SmtpMail> mail = {};  // the line was its last
};

class SmtpSession {
 public:
  static constexpr size_t kLongestLine = 1001;  // with its end, and a dot (RFC 5321 4.5.3.1.6)
  static constexpr size_t kMostBytes = 1'000'000;
  static constexpr size_t kMostRecipients = 100;
  static constexpr std::string_view kGreeting = "220 ESMTP\r\n";
  static constexpr std::string_view kBadLine = "500 a line has at most 1000 bytes, and CR LF at its end alone\r\n";

  explicit SmtpSession(bool secured) : secured_(secured) {}
  // A line without its end.
  SmtpAnswer take(std::string_view line);

 private:
  SmtpAnswer take_text(std::string_view line);
  std::string command(std::string_view verb, std::string_view argument);
  std::string greet(std::string_view verb, std::string_view client);
  std::string begin_mail(std::string_view argument);
  std::string add_recipient(std::string_view argument);
  std::string begin_text();
  std::string forget_mail();

  const bool secured_;
  bool greeted_ = false;
  bool in_text_ = false;
  bool too_large_ = false;
  SmtpMail mail_;  // under way once `from` is not empty
};

}  // namespace peal::examples
