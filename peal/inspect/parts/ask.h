// SPDX-License-Identifier: BSD-3-Clause
// Asks another loop something on its thread and hears the answer on this one, or, when the deadline has passed or the
// loop has ended, that there is none. Nobody waits: a loop that stands still costs its own answer alone.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <peal/loop/loop.h>

namespace peal::detail {

// On `here`'s thread. `done(std::optional<Answer>)` is called there once, unless `here` ends first; at once when
// `there` is the same loop or has ended. `work()` may still run after that: what it refers to must live by itself.
template <class Work, class Done>
void ask(Loop& here, Mailbox& there, Duration reply_timeout, Work work, Done done) {
  using Answer = std::invoke_result_t<Work&>;
  if (there.here() == &here) return done(std::optional<Answer>(work()));
  struct Question {
    Done done;
    TimerId timer;
  };
  // The timer owns it, so that it lives and dies on this thread.
  auto owned = std::make_shared<Question>(std::move(done), TimerId{});
  const std::weak_ptr<Question> asked = owned;
  const TimerId timer =
      here.after(reply_timeout, [question = std::move(owned)] { question->done(std::optional<Answer>()); });
  if (!timer) return;  // this loop is ending
  asked.lock()->timer = timer;
  const bool taken = there.insist([asked, &here, back = here.mailbox(), work = std::move(work)]() mutable {
    back->insist([asked, &here, answer = std::optional<Answer>(work())]() mutable {
      const std::shared_ptr<Question> open = asked.lock();
      if (!open) return;  // too late
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
