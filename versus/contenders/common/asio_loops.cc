// SPDX-License-Identifier: BSD-3-Clause
// How a program's loops are, which is all that the contenders of one library differ in: see asio_sessions.h.
extern const bool kOneLoop = ONE_LOOP;
extern const bool kLocked = LOCKED;
