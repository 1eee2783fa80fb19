// SPDX-License-Identifier: BSD-3-Clause
// SignalHub: the process's one receiver of signals. Its handler, on whatever thread the kernel picks, sets a bit and
// writes to an eventfd; every loop that handles signals watches that eventfd, and the one that sees it first tells all
// loops concerned, through their mailboxes. So a signal is heard by every loop, threads need no mask, and a program
// that is executed inherits none.
//
// There is one for the process because a signal's disposition is the process's. Any thread.
#pragma once

#include <cstdint>

#include <peal/base/result.h>

namespace peal::detail {

class SignalWatch;

// From join() to leave() there is an eventfd, the same for all. EMFILE, ENFILE, ENOMEM.
Result<void> join_signals(SignalWatch& watch);
// Nothing calls `watch` any more; but what was posted to its loop stays posted.
void leave_signals(SignalWatch& watch);

// One more, one less handler of the signal in `watch`, which has joined. The first in the process takes the signal over
// from its disposition, which the last restores. EINVAL as sigaction(2).
Result<void> take_signal(SignalWatch& watch, int signal_number);
void give_signal_back(SignalWatch& watch, int signal_number);

// The eventfd. In a child of fork(2) the first call replaces the parent's by one of its own.
Result<int> signal_fd();
// It is readable: posts to every loop concerned what has arrived.
void relay_signals();

}  // namespace peal::detail
