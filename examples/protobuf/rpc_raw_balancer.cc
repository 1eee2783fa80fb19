// SPDX-License-Identifier: BSD-3-Clause
// Distributes remote procedure calls to several servers: `rpc_raw_balancer ADDRESS SERVER...`. The calls go to the
// connected servers in turn. The balancer need not know the services. The first bytes of a message are its type and its
// id. The balancer replaces the id by an id of its own, computes a new checksum, and sends all other bytes unchanged.
//
// All clients share one connection to each server. A client must not be able to change the calls of another client. If
// a field occurs twice in a message, the last one counts, so a later field could change the type or the id. The
// balancer therefore parses each request. It passes the request on only if a server would read the expected type and
// id.
//
// If the connection to a server is lost, its calls are answered with an error. A call is also answered with an error if
// no server is connected. If a client disconnects, the servers are told to cancel its calls. Everything runs on one
// loop and its thread.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <examples/shared/service.h>

#include <peal/net/client.h>
#include <peal/net/messages.h>
#include <peal/protobuf/codec/rpc_envelope.h>
#include <peal/protobuf/rpc/rpc_trouble.h>
#include <peal/wire/framing/integer_bytes.h>

namespace {

using namespace peal;

constexpr TaggedCodec kCodec{.tag = kRpcTag, .limit_bytes = 1024 * 1024};
constexpr size_t kMostCallsOfClient = 1'000;
constexpr size_t kMostUnsentBytes = 16 * 1024 * 1024;  // queued for one server

// The body of a message has this layout:
//
//   tag │ 0x08 │ type (1 byte) │ 0x11 │ id (8 bytes) │ other fields │ checksum (4 bytes)
//
// The byte 0x08 is protobuf's key of the field `type`, and 0x11 is the key of `id`. Protobuf allows the fields in any
// order, but peal and muduo write these two fields first.
constexpr size_t kTypeAt = kRpcTag.size() + 1;
constexpr size_t kIdAt = kTypeAt + 2;
constexpr size_t kIdBytes = 8;
constexpr size_t kChecksumBytes = 4;

struct Head {
  RpcType type;
  uint64_t id;
};

// Reads the type and the id at the front of a message. Returns nothing if the message is too short, has a wrong tag or
// checksum, or does not begin with the two fields.
std::optional<Head> head_of(std::string_view body) {
  if (!kCodec.open(body) || body.size() < kIdAt + kIdBytes + kChecksumBytes) return std::nullopt;
  const auto type = static_cast<RpcType>(body[kTypeAt]);
  if (body[kTypeAt - 1] != 0x08 || type < RpcType::kRequest || type > RpcType::kCancel || body[kIdAt - 1] != 0x11) {
    return std::nullopt;
  }
  return Head{type, *peek_integer<kIdBytes, std::endian::little>(body.substr(kIdAt))};
}

// Returns a frame with a copy of `body` that has another id and a new checksum.
Buffer with_id(std::string_view body, uint64_t id) {
  Buffer frame;
  append_integer<4>(frame, static_cast<uint32_t>(body.size()));
  frame.append(body.substr(0, kIdAt));
  append_integer<kIdBytes, std::endian::little>(frame, id);
  body.remove_prefix(kIdAt + kIdBytes);
  frame.append(body.substr(0, body.size() - kChecksumBytes));
  MessageBytes summed(frame);
  summed.remove_front(4);
  append_integer<kChecksumBytes>(frame, summed.adler32());
  return frame;
}

// Returns true if a server that parses `frame` would read the type and the id of `head`. The check is necessary because
// a field may occur twice in a message. A parser uses the last occurrence, which may differ from the type or the id at
// the front of the message.
bool says(const Buffer& frame, const Head& head) {
  MessageBytes message(frame);
  message.remove_front(4 + kRpcTag.size());
  std::array<char, kChecksumBytes> checksum;
  message.take_back(checksum);
  RpcEnvelope envelope;
  return envelope.read(message) && envelope.type() == head.type && envelope.id() == head.id;
}

class RawBalancer {
 public:
  RawBalancer(Loop& loop, const std::vector<std::string>& servers) : servers_(servers.size()) {
    for (size_t i = 0; i < servers.size(); ++i) {
      servers_[i].name = servers[i];
      servers_[i].client = std::make_unique<Client>(loop, to_server(servers_[i]), always());
    }
  }

  ConnectionCallbacks to_clients() {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [](Connection& connection) {
      connection.emplace_context<std::shared_ptr<Caller>>(std::make_shared<Caller>(connection.handle()));
    };
    callbacks.on_message = messages(kCodec, [this](Connection& connection, std::string_view body) {
      const std::optional<Head> head = head_of(body);
      if (!head || !asked(connection.context<std::shared_ptr<Caller>>(), *head, body)) {
        connection.refuse(Trouble::kUnreadableMessage);
      }
    });
    callbacks.on_close = [this](Connection& connection, CloseReason) {
      const auto calls = std::exchange(connection.context<std::shared_ptr<Caller>>()->calls, {});
      for (const auto& [id, own] : calls) cancel(own);
    };
    return callbacks;
  }

  Result<void> connect() {
    for (const ServerLink& server : servers_) {
      if (Result<void> begun = server.client->connect(server.name); !begun) return begun;
    }
    return {};
  }

 private:
  struct Caller {
    explicit Caller(ConnectionHandle its_handle) : handle(std::move(its_handle)) {}

    const ConnectionHandle handle;
    std::unordered_map<uint64_t, uint64_t> calls;  // calls in progress: the balancer's id for each id of the client
  };
  struct ServerLink {
    std::string name;
    std::unique_ptr<Client> client;
    Connection* connection = nullptr;  // null if there is no open connection
  };
  struct Call {
    std::shared_ptr<Caller> caller;
    uint64_t id;  // the id that the client has given
    ServerLink* server;
  };

  static ClientOptions always() {
    ClientOptions options;
    options.retry = {.attempts = 0, .longest_delay = std::chrono::seconds(1), .reconnect = true};
    return options;
  }

  ConnectionCallbacks to_server(ServerLink& server) {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [&server](Connection& connection) {
      server.connection = &connection;
      fmt::print("connected to {}\n", server.name);
      std::fflush(stdout);
    };
    callbacks.on_message = messages(kCodec, [this, &server](Connection& connection, std::string_view body) {
      const std::optional<Head> head = head_of(body);
      if (!head || head->type != RpcType::kResponse) return connection.refuse(Trouble::kUnreadableMessage);
      answered(server, head->id, body);
    });
    callbacks.on_close = [this, &server](Connection&, CloseReason) {
      server.connection = nullptr;
      fail_calls(server);
    };
    return callbacks;
  }

  // Goes through the servers in turn. Returns the next one that is connected and has less than kMostUnsentBytes queued,
  // or null if there is none.
  ServerLink* choose() {
    for (size_t tried = 0; tried < servers_.size(); ++tried) {
      ServerLink& server = servers_[turn_++ % servers_.size()];
      if (server.connection != nullptr && server.connection->can_send() &&
          server.connection->queued_bytes() < kMostUnsentBytes) {
        return &server;
      }
    }
    return nullptr;
  }

  // Handles a message of a client. Returns false if the message violates the protocol.
  bool asked(const std::shared_ptr<Caller>& caller, const Head& head, std::string_view body) {
    const auto under_way = caller->calls.find(head.id);
    if (head.type == RpcType::kCancel) {
      if (under_way == caller->calls.end()) return true;
      const uint64_t own = under_way->second;
      caller->calls.erase(under_way);
      cancel(own);
      return true;
    }
    if (head.type != RpcType::kRequest || under_way != caller->calls.end()) return false;
    const uint64_t own = last_id_ + 1;
    Buffer frame = with_id(body, own);
    if (!says(frame, {head.type, own})) return false;
    ServerLink* const server = caller->calls.size() < kMostCallsOfClient ? choose() : nullptr;
    if (server == nullptr) {
      answer_error(*caller, head.id, RpcTrouble::kOverloaded);
      return true;
    }
    last_id_ = own;
    caller->calls.emplace(head.id, own);
    calls_.emplace(own, Call{caller, head.id, server});
    server->connection->send(std::move(frame));
    return true;
  }

  void answered(const ServerLink& server, uint64_t own, std::string_view body) {
    const auto found = calls_.find(own);
    // Drops the answer if the call has ended: the client has disconnected or has cancelled the call, or the call was
    // answered before. Also drops the answer if the call was sent to another server. Only a faulty server sends an
    // answer to a call of another server, because each call is sent to one server only.
    if (found == calls_.end() || found->second.server != &server) return;
    const Call call = std::move(found->second);
    calls_.erase(found);
    call.caller->calls.erase(call.id);
    call.caller->handle.send(with_id(body, call.id));
  }

  // Forgets the call whose id at the balancer is `own`, and sends a cancel message to the server that executes the
  // call. Called when the client has cancelled the call or has disconnected. The caller of this function must already
  // have removed the call from the client's own list (Caller::calls). Does nothing if the call has ended.
  void cancel(uint64_t own) {
    const auto found = calls_.find(own);
    if (found == calls_.end()) return;
    Connection* const connection = found->second.server->connection;
    calls_.erase(found);
    Buffer frame;
    append_cancel(frame, own);
    if (connection != nullptr) connection->send(std::move(frame));
  }

  void fail_calls(const ServerLink& server) {
    std::vector<Call> failing;
    std::erase_if(calls_, [&](auto& entry) {
      if (entry.second.server != &server) return false;
      failing.push_back(std::move(entry.second));
      return true;
    });
    for (const Call& call : failing) {
      call.caller->calls.erase(call.id);
      answer_error(*call.caller, call.id, RpcTrouble::kBadResponse);
    }
  }

  static void answer_error(const Caller& caller, uint64_t id, RpcTrouble why) {
    Buffer frame;
    append_error(frame, id, static_cast<int32_t>(why));
    caller.handle.send(std::move(frame));
  }

  std::unordered_map<uint64_t, Call> calls_;  // the key is the balancer's id of the call
  uint64_t last_id_ = 0;
  size_t turn_ = 0;
  std::vector<ServerLink> servers_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: rpc_raw_balancer ADDRESS SERVER...\n");
    return 2;
  }
  Loop loop;
  RawBalancer balancer(loop, {argv + 2, argv + argc});
  Server server(loop, balancer.to_clients());
  if (!examples::listen(server, argv[1])) return 1;
  if (Result<void> begun = balancer.connect(); !begun) return examples::failed("cannot connect", begun.error());
  return examples::run(loop);
}
