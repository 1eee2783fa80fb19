// SPDX-License-Identifier: BSD-3-Clause
// The server's side of SMTP (RFC 5321): it takes the lines of a client, and returns answers and mail. It does no I/O.
// Without TLS, a client may only ask for TLS (STARTTLS, RFC 3207). After TLS has begun, a new SmtpSession is made, so
// nothing from before is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peal::examples {

struct SmtpMail {
  std::string from;             // with angle brackets: "<somebody@example.org>"
  std::vector<std::string> to;  // with angle brackets too
  std::string text;             // lines that end with CR LF
};

// The server's next step after it has sent the answer.
enum class SmtpNext : uint8_t { kGoOn, kStartTls, kClose };

struct SmtpAnswer {
  std::string text = {};  // empty if the line gets no answer
  SmtpNext next = SmtpNext::kGoOn;
  std::optional<SmtpMail> mail = {};  // set if the line has completed a mail
};

class SmtpSession {
 public:
  static constexpr size_t kLongestLine = 1001;  // bytes, including CR LF and a doubled dot (RFC 5321 4.5.3.1.6)
  static constexpr size_t kMostBytes = 1'000'000;
  static constexpr size_t kMostRecipients = 100;
  static constexpr std::string_view kGreeting = "220 ESMTP\r\n";
  static constexpr std::string_view kBadLine = "500 a line has at most 1000 bytes, and CR LF at its end alone\r\n";

  explicit SmtpSession(bool secured) : secured_(secured) {}
  // Processes one line of the client and returns the server's answer. `line` must be without its CR LF.
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
  SmtpMail mail_;  // `from` is empty if no mail has begun
};

}  // namespace peal::examples
