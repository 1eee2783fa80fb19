// SPDX-License-Identifier: BSD-3-Clause
// An HTTP server on Boost.Beast, asio's HTTP library. The session owns the parser, the flat buffer and the answer;
// between answers only the Date changes. Beast reads and answers one request at a time, so each pipelined answer takes
// its own write. asio_sessions.h describes how many loops there are and whether their locks are on.
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "asio_sessions.h"
#include "contender_http.h"

#if OVER_TLS
contender_word contender_words[] = {
    {"--tls-cert", "FILE", nullptr, 0}, {"--tls-key", "FILE", nullptr, 0}, {nullptr, nullptr, nullptr, 0}};
#endif

namespace {

namespace http = boost::beast::http;

template <class Body>
void fill(http::response<Body>& answer, http::status status) {
  answer.clear();
  answer.result(status);
  answer.set(http::field::server, kHttpServer);
  answer.set(http::field::date, http_date());
  answer.set(http::field::content_type, kHttpType);
  answer.set(http::field::content_length, kHttpBodySize);
  answer.set(http::field::connection, "keep-alive");
}

class BeastSession : public BasicSession<BeastSession> {
 public:
  explicit BeastSession(Socket socket) : BasicSession(std::move(socket)) {
    fill(page_, http::status::ok);
    page_.body() = kHttpBody;
  }

  void read() {
    parser_.emplace();
    parser_->header_limit(kHttpMaxHeaderBytes);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](ErrorCode error, size_t) { self->on_request(error); });
  }

 private:
  void on_request(const ErrorCode& error) {
    if (error == http::error::header_limit) {
      refuse(http::status::request_header_fields_too_large, false);
    } else if (error && error.category() == http::make_error_code(http::error::bad_method).category() &&
               error != http::error::end_of_stream) {
      refuse(http::status::bad_request, false);
    } else if (!error) {
      answer(parser_->get());
    } else {
      end();
    }
  }

  void answer(const http::request<http::empty_body>& request) {
    const bool is_head = request.method() == http::verb::head;
    if (!is_head && request.method() != http::verb::get) {
      refuse(http::status::method_not_allowed, false);  // the request's body, if there is one, was not read
    } else if (!http_is_page(request.target().data(), request.target().size())) {
      refuse(http::status::not_found, request.keep_alive());
    } else if (is_head || !request.keep_alive()) {
      answer_unusually(is_head, request.keep_alive());
    } else {
      const std::string_view date(http_date(), kHttpDateBytes);
      const auto shown = page_[http::field::date];
      // If the Date has changed, fill() sets all fields again. If only the Date were set, Beast would move this field
      // to the end of the header.
      if (std::string_view(shown.data(), shown.size()) != date) fill(page_, http::status::ok);
      write(page_, true);
    }
  }

  void answer_unusually(bool is_head, bool stays) {
    other_ = std::make_unique<http::response<http::string_body>>();
    fill(*other_, http::status::ok);
    if (!stays) other_->set(http::field::connection, "close");
    if (!is_head) other_->body() = kHttpBody;
    write(*other_, stays);
  }

  void refuse(http::status status, bool stays) {
    other_ = std::make_unique<http::response<http::string_body>>();
    fill(*other_, status);
    other_->set(http::field::content_length, "0");
    if (!stays) other_->set(http::field::connection, "close");
    write(*other_, stays);
  }

  void write(http::response<http::string_body>& response, bool stays) {
    http::async_write(stream_, response, [self = shared_from_this(), stays](ErrorCode error, size_t) {
      if (!error && stays) {
        self->read();
      } else if (!error) {
        self->end();
      }
    });
  }

  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> page_;
  std::unique_ptr<http::response<http::string_body>> other_;
};

}  // namespace

int serve(const contender_options* options) { return serve_sessions<BeastSession>(options); }
