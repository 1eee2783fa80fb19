// SPDX-License-Identifier: BSD-3-Clause
// A publish/subscribe hub on one loop: `hub [ADDRESS]`. The last content of a topic is retained: who subscribes later
// gets it at once. A built-in topic, utc_time, ticks every second.
#include <ctime>
#include <map>
#include <set>
#include <string>

#include <examples/hub/hub_codec.h>
#include <examples/shared/service.h>
#include <fmt/chrono.h>

namespace {

using namespace peal;
using namespace peal::examples;

class Hub {
 public:
  void on_message(Connection& connection, Buffer& input) {
    while (auto message = next_hub_message(input)) {
      switch (message->verb) {
        case HubMessage::Verb::kPublish: publish(message->topic, message->content); break;
        case HubMessage::Verb::kSubscribe: subscribe(connection, message->topic); break;
        case HubMessage::Verb::kUnsubscribe: unsubscribe(connection, message->topic); break;
        case HubMessage::Verb::kBad: return connection.close();
      }
    }
  }
  void forget(Connection& connection) {
    for (const std::string& topic : connection.context<Topics>()) topics_[topic].subscribers.erase(&connection);
  }
  void publish(const std::string& topic, std::string_view content) {
    Topic& entry = topics_[topic];
    entry.retained = share_bytes(publication(topic, content));  // one copy for all of them
    for (const auto& [key, subscriber] : entry.subscribers) subscriber.send(entry.retained);
  }

  using Topics = std::set<std::string>;  // of one connection

 private:
  struct Topic {
    SharedBytes retained;
    std::map<const Connection*, ConnectionHandle> subscribers;
  };

  void subscribe(Connection& connection, const std::string& topic) {
    connection.context<Topics>().insert(topic);
    Topic& entry = topics_[topic];
    entry.subscribers.emplace(&connection, connection.handle());
    if (entry.retained) connection.send(entry.retained);
  }
  void unsubscribe(Connection& connection, const std::string& topic) {
    connection.context<Topics>().erase(topic);
    topics_[topic].subscribers.erase(&connection);
  }

  std::map<std::string, Topic> topics_;
};

}  // namespace

int main(int argc, char** argv) {
  Hub hub;
  Loop loop;
  Server server(loop,
                {
                    .on_open = [](Connection& connection) { connection.emplace_context<Hub::Topics>(); },
                    .on_message = [&](Connection& connection, Buffer& input) { hub.on_message(connection, input); },
                    .on_close = [&](Connection& connection, CloseReason) { hub.forget(connection); },
                });
  if (!listen(server, argument(argc, argv, 1, "127.0.0.1:9982"))) return 1;
  loop.every(std::chrono::seconds(1),
             [&] { hub.publish("utc_time", fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(std::time(nullptr)))); });
  return run(loop);
}
