// SPDX-License-Identifier: BSD-3-Clause
// A publish/subscribe hub on one loop: `hub [ADDRESS]`. The hub keeps the last content of each topic, and sends it to
// each new subscriber immediately. The hub itself publishes the time under the topic utc_time every second.
#include <ctime>
#include <map>
#include <set>
#include <string>

#include <examples/hub/hub_codec.h>
#include <examples/shared/service.h>
#include <fmt/chrono.h>

#include <peal/net/messages.h>

namespace {

using namespace peal;
using namespace peal::examples;

// The state of one connection: its parser, and the topics that it has subscribed to.
struct Member {
  HubReader reader;
  std::set<std::string> topics;
};

class Hub {
 public:
  void on_line(Connection& connection, std::string_view line) {
    const std::optional<HubMessage> message = connection.context<Member>().reader.take(line);
    if (!message) return;
    switch (message->verb) {
      case HubMessage::Verb::kPublish: return publish(message->topic, message->content);
      case HubMessage::Verb::kSubscribe: return subscribe(connection, message->topic);
      case HubMessage::Verb::kUnsubscribe: return unsubscribe(connection, message->topic);
      case HubMessage::Verb::kBad: return connection.refuse(Trouble::kBadMessage);
    }
  }
  void forget(Connection& connection) {
    for (const std::string& topic : connection.context<Member>().topics) topics_[topic].subscribers.erase(&connection);
  }
  void publish(const std::string& topic, std::string_view content) {
    Topic& entry = topics_[topic];
    entry.retained = share_bytes(publication(topic, content));  // all subscribers share this copy
    for (const auto& [key, subscriber] : entry.subscribers) subscriber.send(entry.retained);
  }

 private:
  struct Topic {
    SharedBytes retained;
    std::map<const Connection*, ConnectionHandle> subscribers;
  };

  void subscribe(Connection& connection, const std::string& topic) {
    connection.context<Member>().topics.insert(topic);
    Topic& entry = topics_[topic];
    entry.subscribers.emplace(&connection, connection.handle());
    if (entry.retained) connection.send(entry.retained);
  }
  void unsubscribe(Connection& connection, const std::string& topic) {
    connection.context<Member>().topics.erase(topic);
    topics_[topic].subscribers.erase(&connection);
  }

  std::map<std::string, Topic> topics_;
};

}  // namespace

int main(int argc, char** argv) {
  Hub hub;
  Loop loop;
  auto on_line = [&](Connection& connection, std::string_view line) { hub.on_line(connection, line); };
  Server server(loop, {
                          .on_open = [](Connection& connection) { connection.emplace_context<Member>(); },
                          .on_message = messages(hub_lines(), on_line),
                          .on_close = [&](Connection& connection, CloseReason) { hub.forget(connection); },
                      });
  if (!listen(server, argument(argc, argv, 1, "127.0.0.1:9982"))) return 1;
  loop.every(std::chrono::seconds(1),
             [&] { hub.publish("utc_time", fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(std::time(nullptr)))); });
  return run(loop);
}
