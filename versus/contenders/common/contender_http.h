// SPDX-License-Identifier: BSD-3-Clause
// The answer that every HTTP contender gives. It is the same for all, so that no server is faster because it sends
// less. GET / and GET /collect, with any query, are answered with:
//
//   HTTP/1.1 200 OK
//   Server: bench
//   Date: Sun, 06 Nov 1994 08:49:37 GMT
//   Content-Type: text/plain
//   Content-Length: 13
//   Connection: keep-alive          ("close" if the request asks for it)
//
//   Hello, World!
//
// These are the fields of nginx, which cannot leave out Server or Connection. "bench" has as many letters as "nginx".
// Another path is answered with 404, another method than GET and HEAD with 405; the text is each library's own.
#pragma once
#ifdef __cplusplus
extern "C" {
#endif

enum { kHttpDateBytes = 29, kHttpMaxHeaderBytes = 8 * 1024 };

static const char kHttpServer[] = "bench";
static const char kHttpType[] = "text/plain";
static const char kHttpBody[] = "Hello, World!";
static const char kHttpBodySize[] = "13";

// Returns the current time as the value of a Date header field: 29 characters and a terminating zero. Each thread keeps
// its own text and formats it at most once a second.
const char* http_date(void);

// Returns 1 if a GET of this request target is answered with 200, otherwise 0. `size` is the target's length in bytes.
int http_is_page(const char* target, unsigned long size);

#ifdef __cplusplus
}
#endif
