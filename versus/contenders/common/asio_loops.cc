// SPDX-License-Identifier: BSD-3-Clause
// Sets how the loops of one program are arranged: the only difference between contenders of one library. See
// asio_sessions.h.
extern const bool kOneLoop = ONE_LOOP;
extern const bool kLocked = LOCKED;
