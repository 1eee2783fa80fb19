// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/stack_trace.h>

#include <signal.h>

#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/base/exception.h>

namespace peal {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Called after a function call, so that the compiler does not turn the call into a jump, or a recursion into a loop.
void stay() { asm volatile("" ::: "memory"); }

[[gnu::noinline]] void trace_from_here(RawTrace& trace, std::size_t skip) {
  capture(trace, skip);
  stay();
}
[[gnu::noinline]] void caller_of_the_traced(RawTrace& trace, std::size_t skip) {
  trace_from_here(trace, skip);
  stay();
}
[[gnu::noinline]] void descend(RawTrace& trace, std::size_t depth) {
  if (depth == 0) {
    trace_from_here(trace, 0);
  } else {
    descend(trace, depth - 1);
  }
  stay();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(StackTrace, names_the_caller_with_its_file_and_line_first) {
  RawTrace trace;
  caller_of_the_traced(trace, 0);
  const std::string text = describe(trace);
  EXPECT_THAT(first_line(text), StartsWith("#0 peal::(anonymous namespace)::trace_from_here(peal::RawTrace&"));
  EXPECT_THAT(first_line(text), testing::ContainsRegex("stack_trace_test.cc:2[0-9]$"));
  EXPECT_THAT(text, HasSubstr("\n#1 peal::(anonymous namespace)::caller_of_the_traced("));
  EXPECT_EQ(text.back(), '\n');
}

TEST(StackTrace, skipped_frames_are_left_out) {
  RawTrace trace;
  caller_of_the_traced(trace, 1);
  EXPECT_THAT(first_line(describe(trace)), HasSubstr("caller_of_the_traced"));
  caller_of_the_traced(trace, 1'000);
  EXPECT_EQ(trace.count, 0U);
  EXPECT_EQ(describe(trace), "");
}

TEST(StackTrace, deeper_than_the_array_keeps_the_innermost) {
  RawTrace trace;
  descend(trace, 200);
  EXPECT_EQ(trace.count, trace.addresses.size());
  EXPECT_THAT(describe(trace), HasSubstr("#47 peal::(anonymous namespace)::descend("));
}

TEST(StackTrace, is_described_on_another_thread) {
  RawTrace trace;
  caller_of_the_traced(trace, 0);
  std::string text;
  std::thread([&] { text = describe(trace); }).join();
  EXPECT_THAT(text, HasSubstr("caller_of_the_traced"));
}

TEST(StackTrace, many_threads_capture_and_describe_at_once) {
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string& text : texts) {
    threads.emplace_back([&text] {
      RawTrace trace;
      caller_of_the_traced(trace, 0);
      text = describe(trace);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(first_line(text), first_line(texts[0]));
}

TEST(StackTrace, an_address_of_nothing_stays_a_number) {
  RawTrace trace;
  trace.addresses[0] = 0x10;
  trace.count = 1;
  EXPECT_EQ(describe(trace), "#0 0x10\n");
}

RawTrace in_handler;
[[gnu::noinline]] int interrupted_function() { return ::raise(SIGUSR1) + 1; }

TEST(StackTrace, from_a_signal_handler_shows_what_was_interrupted) {
  warm_up_stack_traces();
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) { capture(in_handler); };
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  EXPECT_EQ(interrupted_function(), 1);
  ::sigaction(SIGUSR1, &before, nullptr);
  const std::string text = describe(in_handler);
  EXPECT_THAT(text, HasSubstr("interrupted_function() at "));
  EXPECT_THAT(text, HasSubstr("from_a_signal_handler"));
}

[[gnu::noinline]] void throw_something() { throw Exception("the disk is on fire"); }

TEST(Exception, carries_its_message_and_the_stack_of_whoever_made_it) {
  try {
    throw_something();
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "the disk is on fire");
    const auto& exception = dynamic_cast<const Exception&>(error);
    const std::string text = exception.stack_trace();
    EXPECT_THAT(first_line(text), StartsWith("#0 peal::(anonymous namespace)::throw_something()"));
    EXPECT_THAT(text, HasSubstr("carries_its_message"));
    EXPECT_THAT(text, Not(HasSubstr("Exception::Exception")));
    const Exception copy(exception);
    EXPECT_EQ(copy.stack_trace(), text);
  }
}

// The exception may report that memory is short, so its text is not copied.
TEST(Exception, what_was_thrown_takes_no_memory) {
  static_assert(noexcept(what_was_thrown()));
  try {
    throw Exception("there is no room left for a copy of this");
  } catch (const std::exception& error) {
    EXPECT_EQ(static_cast<const void*>(what_was_thrown()), static_cast<const void*>(error.what()));
  }
  try {
    throw 1;
  } catch (...) {
    EXPECT_STREQ(what_was_thrown(), "an exception that is not a std::exception");
  }
}

}  // namespace
}  // namespace peal
