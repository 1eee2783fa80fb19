// SPDX-License-Identifier: BSD-3-Clause
// A SOCKS 4, 4a and 5 proxy on one loop: `socks_proxy [ADDRESS [SECONDS]]`, then
//   curl --socks5-hostname 127.0.0.1:1080 http://example.org/
// Names are looked up without blocking. pipe() joins the two connections: if one side reads slowly, the proxy reads no
// faster from the other side. The memory of each connection is therefore limited. A half-close is passed on. A client
// that has not finished its request after SECONDS (10 by default) is disconnected.
// The proxy connects to network addresses only. A target is a HostPort, so a client cannot reach the unix sockets of
// this machine.
#include <cstdlib>
#include <map>

#include <examples/proxy/socks.h>
#include <examples/shared/service.h>

#include <peal/net/client.h>
#include <peal/net/pipe.h>
#include <peal/net/resolver.h>

namespace {

using namespace peal;
using examples::SocksHandshake;

class SocksProxy {
 public:
  SocksProxy(Loop& loop, Duration handshake_timeout)
      : loop_(loop), resolver_(loop), handshake_timeout_(handshake_timeout) {}

  ConnectionCallbacks callbacks() {
    return {.on_open =
                [this](Connection& client) {
                  Session& session = client.emplace_context<Session>();
                  session.id = ++last_id_;
                  session.deadline = loop_.after(handshake_timeout_, [handle = client.handle()] { handle.close(); });
                },
            .on_message = [this](Connection& client, Buffer& input) { shake_hands(client, input); },
            .on_close =
                [this](Connection& client, CloseReason) {
                  Session& session = client.context<Session>();
                  loop_.cancel(session.deadline);
                  if (!session.piped) upstreams_.erase(session.id);  // the upstream is not needed any more
                }};
  }

 private:
  struct Session {
    uint64_t id = 0;
    SocksHandshake handshake = {};
    TimerId deadline = {};  // ends a handshake that takes too long
    bool connecting = false;
    bool piped = false;
  };

  void shake_hands(Connection& client, Buffer& input) {
    Session& session = client.context<Session>();
    if (session.connecting) return;  // bytes after the request stay in `input`, and pipe() sends them
    SocksHandshake::State state;
    do {
      state = session.handshake.take(input);
      if (std::string reply = session.handshake.reply(); !reply.empty()) {
        client.send(reply);
      } else if (state == SocksHandshake::State::kMore) {
        return;
      }
    } while (state == SocksHandshake::State::kMore);
    if (state == SocksHandshake::State::kHangUp) return client.close();
    connect_upstream(client, session);
  }

  void connect_upstream(Connection& client, Session& session) {
    session.connecting = true;
    loop_.cancel(session.deadline);
    client.pause();  // further bytes of the client wait in the kernel
    ClientOptions options;
    options.resolver = &resolver_;
    auto on_open = [handle = client.handle()](Connection& upstream) {
      handle.run([&](Connection& waiting) {
        Session& its = waiting.context<Session>();
        waiting.send(its.handshake.granted());
        its.piped = pipe(waiting, upstream).has_value();
        if (!its.piped) return waiting.close();
        waiting.resume();
      });
    };
    auto on_close = [this, id = session.id](Connection&, CloseReason) { upstreams_.erase(id); };
    auto on_failed = [this, id = session.id, handle = client.handle()](std::error_code error, Duration) {
      handle.run([&](Connection& waiting) { refuse(waiting, error); });
      upstreams_.erase(id);
    };
    auto& upstream = upstreams_[session.id];
    upstream = std::make_unique<Client>(loop_, ConnectionCallbacks{.on_open = on_open, .on_close = on_close}, options,
                                        on_failed);
    Result<void> started = upstream->connect(session.handshake.target());
    if (!started) refuse(client, started.error());
  }

  static void refuse(Connection& client, std::error_code error) {
    client.send(client.context<Session>().handshake.refused(error));
    client.close();
  }

  Loop& loop_;
  Resolver resolver_;
  const Duration handshake_timeout_;
  std::map<uint64_t, std::unique_ptr<Client>> upstreams_;  // by session id; each is erased when its connection ends
  uint64_t last_id_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string patience = examples::argument(argc, argv, 2, "10");
  Loop loop;
  SocksProxy proxy(loop, std::chrono::seconds(std::strtoul(patience.c_str(), nullptr, 10)));
  Server server(loop, proxy.callbacks());
  if (!examples::listen(server, examples::argument(argc, argv, 1, "127.0.0.1:1080"))) return 1;
  return examples::run(loop);
}
