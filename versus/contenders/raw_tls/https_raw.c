// SPDX-License-Identifier: BSD-3-Clause
// The floor of HTTPS, that is the least it can cost: an SSL_read, the code of raw_request.h, an SSL_write. The answers
// to requests that arrive together leave in one write. With --root, `GET /one-mib.bin` is answered with that file of
// the folder, which is read and encrypted in pieces of 64 KiB.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contender_tls.h"
#include "raw_request.h"
#include "raw_tls_loop.h"

static const char kFileName[] = "one-mib.bin";
static const char kFileRequest[] = "GET /one-mib.bin ";

struct contender_word contender_words[] = {
    {"--tls-cert", "FILE", NULL, 0}, {"--tls-key", "FILE", NULL, 0}, {"--root", "FOLDER", NULL, 1}, {.name = NULL}};

const bool raw_tls_gathers = true;

static int file = -1;
static long long file_bytes;

void raw_tls_turn(void) { raw_answers_refresh(); }

void raw_tls_send_piece(const struct raw_tls_loop* loop, struct raw_tls_stream* stream) {
  const ssize_t got = pread(file, loop->out, kTlsOutputBytes, stream->sends_from);
  if (got <= 0) {  // the file became shorter: better end the connection than send a wrong answer
    stream->ends = true;
    stream->sends = false;
    return;
  }
  stream->sends_from += got;
  stream->sends = stream->sends_from < file_bytes;
  raw_tls_send(loop, stream, loop->out, (size_t)got);
}

// If `in` begins with a complete request for the file one-mib.bin, returns the length of this request. Otherwise
// returns 0.
static size_t file_request(const char* in, size_t size) {
  if (file < 0 || size < sizeof kFileRequest || memcmp(in, kFileRequest, sizeof kFileRequest - 1) != 0) return 0;
  const char* end = memmem(in, size, "\r\n\r\n", 4);
  return end == NULL ? 0 : (size_t)(end - in) + 4;
}

static void send_file_head(const struct raw_tls_loop* loop, struct raw_tls_stream* stream) {
  const int size = snprintf(loop->out, kTlsOutputBytes,
                            "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: application/octet-stream\r\n"
                            "Content-Length: %lld\r\nConnection: keep-alive\r\n\r\n",
                            file_bytes);
  stream->sends_from = 0;
  stream->sends = true;
  raw_tls_send(loop, stream, loop->out, (size_t)size);
}

size_t raw_tls_take(const struct raw_tls_loop* loop, struct raw_tls_stream* stream, const char* in, size_t size) {
  size_t at = 0;
  while (at < size && !stream->ends && !stream->sends) {
    const size_t asked = file_request(in + at, size - at);
    if (asked > 0) {
      at += asked;
      send_file_head(loop, stream);
      break;
    }
    const struct raw_outcome outcome = raw_answer(in + at, size - at, loop->out, kTlsOutputBytes);
    if (outcome.written == 0) break;
    at += outcome.taken;
    stream->ends = outcome.ends;
    if (!raw_tls_send(loop, stream, loop->out, outcome.written)) break;
  }
  return at;
}

int serve(const struct contender_options* options) {
  const char* root = contender_words[2].value;
  if (root != NULL) {
    char path[4096];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", root, kFileName);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &about) != 0) fail(path);
    file_bytes = about.st_size;
  }
  return raw_tls_serve(options);
}
