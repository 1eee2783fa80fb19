// SPDX-License-Identifier: BSD-3-Clause
// Sends a protobuf message to a server and prints the answer, in a coroutine: `codec_client ADDRESS [QUESTION...]`.
// Sends a Query with the questions, or an Empty if there are none.
#include <examples/protobuf/question.pb.h>
#include <examples/protobuf/run_task.h>

#include <peal/base/printable.h>
#include <peal/coro/connect.h>
#include <peal/protobuf/read_message.h>

namespace {

using namespace peal;
using google::protobuf::DynamicCastToGenerated;

constexpr Duration kPatience = std::chrono::minutes(1);

std::unique_ptr<google::protobuf::Message> request(int argc, char** argv) {
  if (argc == 2) return std::make_unique<muduo::Empty>();
  auto query = std::make_unique<muduo::Query>();
  query->set_id(1);
  query->set_questioner("codec_client");
  for (int i = 2; i < argc; ++i) query->add_question(argv[i]);
  return query;
}

void print(const google::protobuf::Message& message) {
  fmt::print("{}\n", message.GetTypeName());
  if (const auto* answer = DynamicCastToGenerated<muduo::Answer>(&message)) {
    fmt::print("{} answers query {} of {}\n", printable(answer->answerer()), answer->id(),
               printable(answer->questioner()));
    for (const std::string& solution : answer->solution()) fmt::print("{}\n", printable(solution));
  }
}

// Sends the message and prints the answer. Returns the exit code of the program.
Task<int> ask(std::string address, const google::protobuf::Message& message) {
  Result<Stream> stream = co_await connect(address);
  if (!stream) co_return examples::failed("cannot connect to " + address, stream.error());
  const NamedCodec codec;
  const Result<void> sent = co_await stream->write(framed(codec, message));
  if (!sent) co_return examples::failed("cannot send", sent.error());
  // Quoted in docs: [read]
  MessageTypes types;
  types.add<muduo::Answer>();
  types.add<muduo::Empty>();
  const auto answer = co_await read_message(*stream, codec, types).within(kPatience);
  // End of quote: [read]
  if (!answer) co_return examples::failed("no answer", answer.error());
  if (*answer == nullptr) {
    fmt::print(stderr, "the server ended without an answer\n");
    co_return 1;
  }
  print(**answer);
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: codec_client ADDRESS [QUESTION...]\n");
    return 2;
  }
  const std::unique_ptr<google::protobuf::Message> message = request(argc, argv);
  Loop loop;
  return examples::run(loop, ask(argv[1], *message));
}
