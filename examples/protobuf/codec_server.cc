// SPDX-License-Identifier: BSD-3-Clause
// Answers protobuf messages, with callbacks: `codec_server [ADDRESS]`. A Query is answered by an Answer and an Empty by
// an Empty, then the connection ends, as muduo's client expects. A message of another type ends it without an answer.
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
  // [dispatch]
  MessageDispatcher dispatcher(NamedCodec{.limit_bytes = 65536});
  dispatcher.on<muduo::Query>(on_query);
  dispatcher.on<muduo::Empty>([](Connection& connection, const muduo::Empty& empty) { answer(connection, empty); });
  return examples::serve(argc, argv, "127.0.0.1:9985", {.on_message = dispatcher.on_message()});
  // [dispatch]
}
