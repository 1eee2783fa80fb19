// SPDX-License-Identifier: BSD-3-Clause
// RpcChannel: callbacks throw, make calls or destroy the channel, and the channel or its loop ends while calls are in
// progress. Each call must end exactly once.
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/protobuf/rpc/rpc_channel.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/protobuf/rpc_channel_rig.h>
#include <tests/protobuf/scripted_rpc_server.h>

namespace peal {
namespace {

using echo::EchoResponse;
using echo::EchoService;
using std::chrono::hours;
using std::chrono::milliseconds;
using test::answer_truly;
using test::count_up;
using test::echo_of;
using test::EchoAnswer;
using test::error_text;
using test::HeardCall;
using test::reconnecting_soon;
using test::said_by;
using test::ScriptedRpcServer;
using test::StubController;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

class RpcChannelEndTest : public test::QuietRpcChannelRig {
 protected:
  // Makes a call with a deadline of an hour, whose end only `on_answer` notes.
  static RpcCallId call_long(RpcChannel& channel, RpcChannel::Answered<EchoResponse> on_answer) {
    return channel.call(&EchoService::Echo, echo_of("x"), std::move(on_answer), hours(1));
  }
};

TEST_P(RpcChannelEndTest, callback_that_throws_does_not_keep_the_others_from_their_answers) {
  talk(answer_truly, [this](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
    const auto throwing = [this](const EchoAnswer& answer) {
      notes.push_back(said_by(answer));
      throw std::runtime_error("thrown by a test");
    };
    for (int i = 0; i < 2; ++i) {
      channel.call(&EchoService::Echo, echo_of("throws"), throwing);
      channel.call(&EchoService::Echo, echo_of("well"), noting());
    }
    channel.call(&EchoService::Echo, echo_of("late"), throwing, {});
    co_await until([&] { return notes.size() == 5; });
    EXPECT_EQ(server.connections_ever, 1u);
    EXPECT_EQ(channel.stats().answered + channel.stats().timed_out, 5u);
    for (int i = 0; i < 2; ++i) call_long(channel, throwing);
    channel.stop();
    EXPECT_THAT(notes, SizeIs(7));
  });
}

TEST_P(RpcChannelEndTest, callbacks_make_new_calls) {
  talk(answer_truly, [](ScriptedRpcServer&, RpcChannel& channel) -> Task<> {
    int left = 100;
    std::function<void(EchoAnswer)> again = [&](const EchoAnswer& answer) {
      EXPECT_TRUE(answer);
      if (--left > 0) channel.call(&EchoService::Echo, echo_of("x"), again);
    };
    for (int i = 0; i < 10; ++i) channel.call(&EchoService::Echo, echo_of("x"), again);
    co_await until([&] { return left <= 0 && channel.stats().under_way == 0; });
    EXPECT_EQ(channel.stats().answered, channel.stats().calls);
  });
}

TEST_P(RpcChannelEndTest, calls_made_by_the_callbacks_of_a_lost_connection_wait_for_the_next) {
  const auto drops_first = [](const HeardCall& call) {
    if (call.payload == "x") return call.connection->abort();
    answer_truly(call);
  };
  talk(drops_first, [this](ScriptedRpcServer&, RpcChannel& channel) -> Task<> {
    for (int i = 0; i < 3; ++i) {
      call_long(channel, [&](const EchoAnswer& answer) {
        EXPECT_EQ(answer.error(), make_error_code(RpcTrouble::kConnectionLost));
        channel.call(&EchoService::Echo, echo_of("again"), noting(), hours(1));
      });
    }
    co_await until([&] { return notes.size() == 3; });
    EXPECT_THAT(notes, Each(std::string("again")));
  });
}

// The callback destroys the channel, once for each reason to call it. The channel has further calls of all kinds then.
TEST_P(RpcChannelEndTest, callback_destroys_the_channel) {
  const auto server_says = [](const HeardCall& call) {
    if (call.payload == "answered") answer_truly(call);
    if (call.payload == "closed") call.connection->close();
    if (call.payload == "bad") call.connection->send("BAD FRAME OF A SERVER");
  };
  talk(server_says, [this](ScriptedRpcServer& server, RpcChannel&) -> Task<> {
    for (const std::string way : {"answered", "closed", "bad", "deadline", "stopped", "refused"}) {
      RpcChannelOptions options = reconnecting_soon();
      options.most_calls = way == "refused" ? 3 : 100;
      auto channel = std::make_unique<RpcChannel>(loop(), options);
      EXPECT_TRUE(channel->connect(server.address()));
      co_await until([&] { return channel->is_connected(); });
      int called = 0;
      int done = 0;
      EchoResponse response;
      StubController controller;
      const auto request = echo_of("unanswered");
      EchoService::Stub(channel.get())
          .Echo(&controller, &request, &response, google::protobuf::NewCallback(count_up, &done));
      const auto destroying = [&](const EchoAnswer&) {
        ++called;
        channel.reset();
      };
      const Duration deadline = way == "deadline" ? milliseconds(3) : hours(1);
      for (int i = 0; i < 3; ++i) channel->call(&EchoService::Echo, echo_of(way), destroying, deadline);
      if (way == "stopped") channel->stop();
      co_await until([&] { return channel == nullptr && server.connections.size() == 1; });
      co_await settle();
      EXPECT_EQ(called, 1) << way;
      EXPECT_EQ(done, 1) << way;
      EXPECT_TRUE(controller.Failed());
    }
  });
}

struct CallingAgain {
  RpcChannel* channel;
  echo::EchoRequest request;
  EchoResponse response;
  StubController controller;
  int done = 0;
};
void call_again_once(CallingAgain* calling) {
  if (++calling->done > 1) return;
  EchoService::Stub(calling->channel)
      .Echo(&calling->controller, &calling->request, &calling->response,
            google::protobuf::NewCallback(call_again_once, calling));
}

TEST_P(RpcChannelEndTest, stubs_that_call_again_while_the_channel_is_destroyed_are_told) {
  talk({}, [this](ScriptedRpcServer& server, RpcChannel&) -> Task<> {
    std::vector<CallingAgain> calling(100);
    int called_back = 0;
    {
      RpcChannel channel(loop());
      EXPECT_TRUE(channel.connect(server.address()));
      for (CallingAgain& each : calling) {
        each.channel = &channel;
        each.request = echo_of("x");
        EchoService::Stub(&channel).Echo(&each.controller, &each.request, &each.response,
                                         google::protobuf::NewCallback(call_again_once, &each));
      }
      call_long(channel, [&](const EchoAnswer&) { ++called_back; });
    }
    co_await until([&] { return calling.back().done == 2; });
    for (const CallingAgain& each : calling) {
      EXPECT_EQ(each.done, 2);
      EXPECT_EQ(each.controller.ErrorText(), errno_code(ECANCELED).message());
    }
    EXPECT_EQ(called_back, 0);
  });
}

TEST_P(RpcChannelEndTest, end_of_the_loop_ends_calls_that_were_sent_unsent_and_refused) {
  for (const bool connected : {false, true}) {
    SCOPED_TRACE(connected);
    auto own = test::make_loop(options()).value();
    RpcChannelOptions few = reconnecting_soon();
    few.most_calls = 3;
    std::optional<ScriptedRpcServer> server(std::in_place, *own);
    RpcChannel channel(*own, few);
    std::vector<std::string> ends;
    int done = 0;
    const auto note_end = [&](const EchoAnswer& answer) {
      ends.push_back(said_by(answer));
      // A call that is made while the loop ends is refused, and its callback must not be called.
      if (answer.error() == Trouble::kLoopStopped)
        call_long(channel, [&](const EchoAnswer&) { ends.push_back("called back"); });
    };
    const auto request = echo_of("stub");
    EchoResponse response;
    StubController controller;
    const auto call_all = [&] {
      EchoService::Stub(&channel).Echo(&controller, &request, &response,
                                       google::protobuf::NewCallback(count_up, &done));
      for (int i = 0; i < 3; ++i) call_long(channel, note_end);
      own->stop();
    };
    if (connected) {
      ASSERT_TRUE(channel.connect(server->address()));
      own->every(milliseconds(1), [&] {
        if (channel.is_connected() && channel.stats().calls == 0) call_all();
      });
    } else {
      call_all();
    }
    ASSERT_TRUE(own->run());
    const std::string stopped = error_text(make_error_code(Trouble::kLoopStopped));
    EXPECT_THAT(ends, testing::UnorderedElementsAre(stopped, stopped, text(RpcTrouble::kTooManyCalls)));
    EXPECT_EQ(done, 1);
    EXPECT_TRUE(controller.Failed());
    EXPECT_EQ(channel.stats().under_way, 0u);
    server.reset();
  }
}

TEST_P(RpcChannelEndTest, calls_after_the_end_of_the_loop_are_refused) {
  auto own = test::make_loop(options()).value();
  RpcChannel channel(*own);
  own->stop();
  ASSERT_TRUE(own->run());
  int called = 0;
  int done = 0;
  EXPECT_EQ(call_long(channel, [&](const EchoAnswer&) { ++called; }), RpcCallId());
  const auto request = echo_of("stub");
  EchoResponse response;
  StubController controller;
  EchoService::Stub(&channel).Echo(&controller, &request, &response, google::protobuf::NewCallback(count_up, &done));
  own.reset();
  call_long(channel, [&](const EchoAnswer&) { ++called; });
  EXPECT_EQ(called, 0);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(channel.stats().failed, 3u);
}

TEST_P(RpcChannelEndTest, done_of_a_call_after_the_end_of_the_loop_throws) {
  auto own = test::make_loop(options()).value();
  RpcChannel channel(*own);
  own->stop();
  ASSERT_TRUE(own->run());
  struct Throws final : google::protobuf::Closure {
    void Run() override { throw std::runtime_error("done"); }
  };
  Throws throws;
  const auto request = echo_of("stub");
  EchoResponse response;
  StubController controller;
  EXPECT_NO_THROW(EchoService::Stub(&channel).Echo(&controller, &request, &response, &throws));
  EXPECT_TRUE(controller.Failed());
}

TEST_P(RpcChannelEndTest, coroutines_of_a_loop_that_ends_are_told) {
  std::optional<RpcChannel> channel(std::in_place, loop());
  run_into_the_end([&]() -> Task<> { co_await call_and_note(*channel, "waits for a connection"); });
  EXPECT_THAT(notes, ElementsAre(error_text(make_error_code(Trouble::kLoopStopped))));
  channel.reset();
}

TEST_P(RpcChannelEndTest, channel_of_a_loop_that_never_runs_is_destroyed_with_its_calls) {
  for (const bool loop_first : {false, true}) {
    auto own = test::make_loop(options()).value();
    auto channel = std::make_unique<RpcChannel>(*own);
    EXPECT_TRUE(channel->connect("127.0.0.1:9"));
    int called = 0;
    int done = 0;
    call_long(*channel, [&](const EchoAnswer&) { ++called; });
    const auto request = echo_of("stub");
    EchoResponse response;
    EchoService::Stub(channel.get()).Echo(nullptr, &request, &response, google::protobuf::NewCallback(count_up, &done));
    if (loop_first) {
      own.reset();
      channel.reset();
    } else {
      channel.reset();
      own.reset();
    }
    EXPECT_EQ(called, loop_first ? 1 : 0);
    EXPECT_EQ(done, 1);
  }
}

PEAL_TEST_ON_EVERY_PORT(RpcChannelEndTest);

}  // namespace
}  // namespace peal
