// SPDX-License-Identifier: BSD-3-Clause
// An echo server on asio: async_read_some into the session's own buffer, async_write of the received bytes, and again.
// With OVER_TLS the stream is asio's ssl::stream. asio_sessions.h describes how many loops there are.
#include <array>

#include "asio_sessions.h"

#if OVER_TLS
contender_word contender_words[] = {
    {"--tls-cert", "FILE", nullptr, 0}, {"--tls-key", "FILE", nullptr, 0}, {nullptr, nullptr, nullptr, 0}};
#endif

namespace {

class EchoSession : public BasicSession<EchoSession> {
 public:
  using BasicSession::BasicSession;

  void read() {
    stream_.async_read_some(net::buffer(buffer_), [self = shared_from_this()](ErrorCode error, size_t got) {
      if (!error) {
        self->write(got);
      } else if (error == net::error::eof) {
        self->end();
      }
    });
  }

 private:
  void write(size_t size) {
    net::async_write(stream_, net::buffer(buffer_, size), [self = shared_from_this()](ErrorCode error, size_t) {
      if (!error) self->read();
    });
  }

  std::array<char, 20 * 1024> buffer_;
};

}  // namespace

int serve(const contender_options* options) { return serve_sessions<EchoSession>(options); }
