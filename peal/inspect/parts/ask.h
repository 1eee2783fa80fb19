// SPDX-License-Identifier: BSD-3-Clause
// ask() runs a function on another loop's thread and passes its result to a callback on this loop's thread. If the
// other loop has ended, or does not answer before a deadline, the callback gets no result. ask() does not block, so a
// loop that hangs delays only its own answer.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <peal/loop/loop.h>

namespace peal::detail {

// Calls `work()` on the thread of `there`, then passes the result to `done(std::optional<Answer>)` on the thread of
// `here`. Must be called on the thread of `here`.
//   - `done` is called exactly once, unless `here` ends first. If `there` is the same loop or has ended, `done` is
//     called before ask() returns. `done` gets nullopt if `there` has ended or `reply_timeout` has passed.
//   - `work` may run after `done` was called, so `work` must own everything it uses.
template <class Work, class Done>
void ask(Loop& here, Mailbox& there, Duration reply_timeout, Work work, Done done) {
  using Answer = std::invoke_result_t<Work&>;
  if (there.here() == &here) return done(std::optional<Answer>(work()));
  struct Question {
    Done done;
    TimerId timer;
  };
  // The timer owns the Question, so that `done` is called and destroyed on the thread of `here` only.
  auto owned = std::make_shared<Question>(std::move(done), TimerId{});
  const std::weak_ptr<Question> asked = owned;
  const TimerId timer =
      here.after(reply_timeout, [question = std::move(owned)] { question->done(std::optional<Answer>()); });
  if (!timer) return;  // this loop is ending
  asked.lock()->timer = timer;
  const bool taken = there.insist([asked, &here, back = here.mailbox(), work = std::move(work)]() mutable {
    back->insist([asked, &here, answer = std::optional<Answer>(work())]() mutable {
      const std::shared_ptr<Question> open = asked.lock();
      if (!open) return;  // the timeout has passed
      here.cancel(open->timer);
      open->done(std::move(answer));
    });
  });
  if (taken) return;
  const std::shared_ptr<Question> open = asked.lock();
  here.cancel(timer);
  open->done(std::optional<Answer>());
}

}  // namespace peal::detail
