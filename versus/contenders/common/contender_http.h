// SPDX-License-Identifier: BSD-3-Clause
// The one answer of every HTTP contender, so that none is paid for saying less. GET / and GET /collect, with any query:
//
//   HTTP/1.1 200 OK
//   Server: bench
//   Date: Sun, 06 Nov 1994 08:49:37 GMT
//   Content-Type: text/plain
//   Content-Length: 13
//   Connection: keep-alive          ("close" to whoever asks for it)
//
//   Hello, World!
//
// The set is nginx's, which cannot be told to leave Server or Connection out; "bench" has as many letters as "nginx".
// Another path is answered with 404, another method than GET and HEAD with 405, in the words of each library.
#pragma once
#ifdef __cplusplus
extern "C" {
#endif

enum { kHttpDateBytes = 29, kHttpMaxHeaderBytes = 8 * 1024 };

static const char kHttpServer[] = "bench";
static const char kHttpType[] = "text/plain";
static const char kHttpBody[] = "Hello, World!";
static const char kHttpBodySize[] = "13";

// The Date of now, 29 letters and a final zero; formatted anew once a second on each thread that asks.
const char* http_date(void);

// Whether GET of this request target, of `size` letters, is answered with 200.
int http_is_page(const char* target, unsigned long size);

#ifdef __cplusplus
}
#endif
