// SPDX-License-Identifier: BSD-3-Clause
// See beast_server.h. The parser and the flat buffer live in the session, and so does the answer, whose Date alone
// changes. Beast reads and answers one request at a time, so pipelined ones leave in a write each.
#include "beast_server.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "contender.h"
#include "contender_http.h"

#if OVER_TLS
#include <boost/asio/ssl.hpp>

#include "contender_tls.h"

contender_word contender_words[] = {
    {"--tls-cert", "FILE", nullptr, 0}, {"--tls-key", "FILE", nullptr, 0}, {nullptr, nullptr, nullptr, 0}};
#endif

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;

#if OVER_TLS
using Stream = asio::ssl::stream<Socket>;

// One for all threads, so that each resumes what another began.
asio::ssl::context make_context() {
  asio::ssl::context context(asio::ssl::context::tls_server);
  contender_tls_set_up(context.native_handle());
  return context;
}

asio::ssl::context& tls_context() {
  static asio::ssl::context context = make_context();
  return context;
}

void prepare() { tls_context(); }

Stream over_socket(Socket socket) { return Stream(std::move(socket), tls_context()); }
#else
using Stream = Socket;

void prepare() {}

Stream over_socket(Socket socket) { return socket; }
#endif

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

class BeastSession : public std::enable_shared_from_this<BeastSession> {
 public:
  explicit BeastSession(Socket socket) : socket_(over_socket(std::move(socket))) {
    fill(page_, http::status::ok);
    page_.body() = kHttpBody;
  }

#if OVER_TLS
  void start() {
    socket_.async_handshake(asio::ssl::stream_base::server, [self = shared_from_this()](error_code error) {
      if (!error) self->read();
    });
  }
#else
  void start() { read(); }
#endif

 private:
  void read() {
    parser_.emplace();
    parser_->header_limit(kHttpMaxHeaderBytes);
    http::async_read_header(socket_, buffer_, *parser_,
                            [self = shared_from_this()](error_code error, size_t) { self->on_request(error); });
  }

  void on_request(const error_code& error) {
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

#if OVER_TLS
  // Whichever of the two ended, the other is told.
  void end() { socket_.async_shutdown([self = shared_from_this()](error_code){}); }
#else
  void end() {}
#endif

  void answer(const http::request<http::empty_body>& request) {
    const bool is_head = request.method() == http::verb::head;
    if (!is_head && request.method() != http::verb::get) {
      refuse(http::status::method_not_allowed, false);  // its body, if any, has not been read
    } else if (!http_is_page(request.target().data(), request.target().size())) {
      refuse(http::status::not_found, request.keep_alive());
    } else if (is_head || !request.keep_alive()) {
      answer_unusually(is_head, request.keep_alive());
    } else {
      const std::string_view date(http_date(), kHttpDateBytes);
      const auto shown = page_[http::field::date];
      // All of it anew: setting a field again would move it to the end.
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
    http::async_write(socket_, response, [self = shared_from_this(), stays](error_code error, size_t) {
      if (!error && stays) {
        self->read();
      } else if (!error) {
        self->end();
      }
    });
  }

  Stream socket_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> page_;
  std::unique_ptr<http::response<http::string_body>> other_;
};

}  // namespace

BeastAcceptor::BeastAcceptor(asio::io_context& io, int listener)
    : acceptor_(io.get_executor()), pause_(io.get_executor()) {
  acceptor_.assign(asio::ip::tcp::v4(), listener);
  acceptor_.non_blocking(true);
  prepare();
}

void BeastAcceptor::accept_next() {
  acceptor_.async_accept([this](error_code error, Socket socket) {
    while (!error) {
      std::make_shared<BeastSession>(std::move(socket))->start();
      // The rest of the backlog, without a trip through the reactor for each.
      socket = acceptor_.accept(error);
    }
    on_accept_error(error);
  });
}

void BeastAcceptor::on_accept_error(const error_code& error) {
  if (error == asio::error::would_block || error == asio::error::connection_aborted) {
    accept_next();
    return;
  }
  // Out of fds: without a pause the acceptor would spin.
  pause_.expires_after(std::chrono::milliseconds(kContenderRetryMs));
  pause_.async_wait([this](error_code) { accept_next(); });
}
