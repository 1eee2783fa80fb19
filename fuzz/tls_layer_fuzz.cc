// SPDX-License-Identifier: BSD-3-Clause
// A TLS server and a TLS client whose bytes go through a relay. The input commands the relay: it cuts, holds back,
// drops, repeats, swaps, changes and adds bytes, or ends early. Whatever the relay does, each side may receive only a
// beginning of what the other side has sent. If the stream ends without an error, the side must have received
// everything.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/base/log.h>
#include <peal/sim/sim_world.h>
#include <peal/tls/self_signed.h>
#include <peal/tls/tls_client_context.h>
#include <peal/tls/tls_server_context.h>

namespace peal {
namespace {

// The input, read as commands.
class Script {
 public:
  explicit Script(std::string_view bytes) : left_(bytes) {}
  // Returns the next byte. Returns 0 after the end of the input, which means "let the bytes pass".
  uint8_t next() {
    if (left_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(left_.front());
    left_.remove_prefix(1);
    return byte;
  }
  std::string_view take(size_t bytes) {
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view left_;
};

// A stream that ignores all events. The classes below handle the events that they need.
class End : public StreamEvents {
 public:
  void on_connected(std::error_code) override {}
  void on_receive_end(std::error_code) override {}
  void on_send_failed(std::error_code) override {}
  void on_sent(size_t) override {}
  void on_closed() override { closed = true; }
  void on_detached(LooseStream) override {}

  StreamPort* port = nullptr;
  StreamId id;
  bool closed = true;

 protected:
  ~End() = default;
};

// Sends `saying` and ends the sending direction. Asserts that it receives only a beginning of `heard_may_be`.
class Talker final : public End {
 public:
  void on_connected(std::error_code error) override {
    if (error) return port->close(id, CloseHow::kNormal);
    port->receive(id, true);
    port->send_copy(id, saying);
    port->shutdown_send(id);
  }
  void on_received(Buffer& bytes) override {
    heard += bytes.to_string();
    PEAL_ASSERT(heard_may_be.starts_with(heard), "{} bytes were received that the peer has not sent", heard.size());
  }
  void on_receive_end(std::error_code error) override {
    PEAL_ASSERT(error || heard == heard_may_be, "the stream ended without an error after {} of {} bytes", heard.size(),
                heard_may_be.size());
    port->close(id, CloseHow::kNormal);
  }
  void on_send_failed(std::error_code) override { port->close(id, CloseHow::kNormal); }

  std::string_view saying, heard_may_be;
  std::string heard;
};

class Relay final : public End {
 public:
  explicit Relay(Script& its_script) : script(its_script) {}
  void on_connected(std::error_code) override { port->receive(id, true); }
  void on_received(Buffer& bytes) override { pass(bytes.to_string()); }
  void on_receive_end(std::error_code) override {
    other->port->send_copy(other->id, held);
    other->port->shutdown_send(other->id);
  }

  void pass(std::string bytes) {
    const uint8_t command = script.next();
    const size_t where = script.next() % bytes.size();
    switch (command % 10) {
      default: break;
      case 1:  // held until the end, or until command 2
        held += bytes;
        return;
      case 2:  // bytes that arrived later are sent first
        bytes += held;
        held.clear();
        break;
      case 3: bytes.erase(where, 1 + script.next() % 32); break;
      case 4: bytes += bytes.substr(where); break;
      case 5: bytes[where] = static_cast<char>(bytes[where] ^ (1 << script.next() % 8)); break;
      case 6: bytes.insert(where, script.take(script.next())); break;
      case 7:
        bytes.resize(where);
        cut = true;
        break;
      case 8: bytes = script.take(script.next()); break;
      case 9: std::rotate(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(where), bytes.end()); break;
    }
    for (size_t done = 0; done < bytes.size();) {
      const size_t piece = std::min<size_t>(bytes.size() - done, command >= 128 ? 1 + script.next() : bytes.size());
      other->port->send_copy(other->id, std::string_view(bytes).substr(done, piece));
      done += piece;
    }
    if (cut) other->port->shutdown_send(other->id);
  }

  Script& script;
  Relay* other = nullptr;
  std::string held;
  bool cut = false;
};

class Acceptor final : public AcceptEvents {
 public:
  explicit Acceptor(std::move_only_function<void(LooseStream)> take) : take_(std::move(take)) {}
  void on_accepted(LooseStream stream) override { take_(std::move(stream)); }
  void on_accept_stopped() override {}

 private:
  std::move_only_function<void(LooseStream)> take_;
};

const TlsServerContext& server_context() {
  static const std::unique_ptr<TlsServerContext> context = [] {
    const SelfSigned own = make_self_signed({.names = {"localhost"}}).value();
    TlsServerOptions options;
    options.certificates.push_back({.chain_pem = own.chain_pem, .key_pem = own.key_pem});
    return TlsServerContext::make(std::move(options)).value();
  }();
  return *context;
}

const TlsClientContext& client_context() {
  static const std::unique_ptr<TlsClientContext> context =
      TlsClientContext::make({.insecure_accept_any_certificate = true}).value();
  return *context;
}

void adopt(StreamPort& port, LooseStream loose, End& end) {
  end.port = &port;
  end.closed = false;
  end.id = port.adopt(std::move(loose), end);
}

void connect(StreamPort& port, const SocketAddress& address, End& end) {
  end.port = &port;
  end.closed = false;
  end.id = port.connect(address, {.host = "localhost"}, end);
}

void talk(Script script) {
  const std::string question(1 + script.next() * 200, 'q');
  const std::string answer(1 + script.next() * 200, 'a');
  SimWorld world(1);
  const std::unique_ptr<Engine> engine = world.make_engine();
  PEAL_ASSERT(engine->open().has_value(), "a simulated engine does not open");
  const std::unique_ptr<StreamPort> servers = server_context().over(*engine);
  const std::unique_ptr<StreamPort> clients = client_context().over(*engine);
  Talker client, server;
  client.saying = server.heard_may_be = question;
  server.saying = client.heard_may_be = answer;
  Relay near(script), far(script);
  near.other = &far;
  far.other = &near;

  const SocketAddress any = SocketAddress::parse("127.0.0.1:0").value();
  const ListenerId at_server = engine->bind(any, {}).value();
  const ListenerId at_relay = engine->bind(any, {}).value();
  Acceptor serves([&](LooseStream loose) { adopt(*servers, std::move(loose), server); });
  Acceptor relays([&](LooseStream loose) {
    connect(*engine, engine->local_address(at_server).value(), far);
    adopt(*engine, std::move(loose), near);
    engine->receive(near.id, true);
  });
  engine->accept(at_server, serves);
  engine->accept(at_relay, relays);
  connect(*clients, engine->local_address(at_relay).value(), client);

  constexpr int kMostTurns = 2000;  // a side may wait forever for bytes that were dropped
  const Duration turn = std::chrono::milliseconds(1);
  for (int i = 0, quiet = 0; i < kMostTurns && quiet < 10; ++i) {
    quiet = engine->wait(engine->now() + turn) == 0 ? quiet + 1 : 0;
  }
  engine->shut();
  for (const End* end : std::initializer_list<const End*>{&client, &server, &near, &far}) {
    PEAL_ASSERT(end->closed, "on_closed() was not called for a stream");
  }
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool silent = [] {
    peal::set_log_sink([](const peal::LogRecord&) {});
    return true;
  }();
  if (silent) peal::talk(peal::Script({reinterpret_cast<const char*>(data), size}));
  return 0;
}
