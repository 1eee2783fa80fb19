// SPDX-License-Identifier: BSD-3-Clause
// Answers protobuf messages, with callbacks: `codec_server [ADDRESS]`. It answers a Query with an Answer, and an Empty
// with an Empty. Then it closes the connection, as muduo's client expects. If a message has another type, it closes the
// connection without an answer.
#include <examples/protobuf/question.pb.h>
#include <examples/shared/service.h>

#include <peal/protobuf/message_dispatcher.h>

namespace {

using namespace peal;

void answer(Connection& connection, const google::protobuf::Message& message) {
  connection.send(framed(NamedCodec(), message));
  connection.close();
}

void on_query(Connection& connection, const muduo::Query& query) {
  muduo::Answer found;
  found.set_id(query.id());
  found.set_questioner(query.questioner());
  found.set_answerer("peal");
  for (const std::string& question : query.question()) found.add_solution(question + " Yes.");
  answer(connection, found);
}

}  // namespace

int main(int argc, char** argv) {
  // Quoted in docs: [dispatch]
  MessageDispatcher dispatcher(NamedCodec{.limit_bytes = 65536});
  dispatcher.on<muduo::Query>(on_query);
  dispatcher.on<muduo::Empty>([](Connection& connection, const muduo::Empty& empty) { answer(connection, empty); });
  return examples::serve(argc, argv, "127.0.0.1:9985", {.on_message = dispatcher.on_message()});
  // End of quote: [dispatch]
}
