// SPDX-License-Identifier: BSD-3-Clause
// See raw_request.h.
#include "raw_request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "contender_http.h"

enum answer_kind { kPage, kPageClose, kNoPage, kNoPageClose, kNoMethod, kBadRequest, kTooLarge, kAnswerKinds };

struct answer {
  char text[kRawAnswerBytes];
  size_t size;
  size_t head_size;  // the size without the body, for an answer to HEAD
  size_t date_at;
};

static const struct {
  const char* status;
  const char* extra;
  const char* connection;
  const char* body;
} kAnswers[kAnswerKinds] = {
    [kPage] = {"200 OK", "", "keep-alive", kHttpBody},
    [kPageClose] = {"200 OK", "", "close", kHttpBody},
    [kNoPage] = {"404 Not Found", "", "keep-alive", "not found"},
    [kNoPageClose] = {"404 Not Found", "", "close", "not found"},
    [kNoMethod] = {"405 Method Not Allowed", "Allow: GET, HEAD\r\n", "close", "not allowed"},
    [kBadRequest] = {"400 Bad Request", "", "close", "bad request"},
    [kTooLarge] = {"431 Request Header Fields Too Large", "", "close", "too large"},
};

static _Thread_local struct answer answers[kAnswerKinds];
static _Thread_local char date_of_answers[kHttpDateBytes + 1];

static void make_answers(const char* date) {
  for (int kind = 0; kind < kAnswerKinds; ++kind) {
    struct answer* answer = &answers[kind];
    answer->date_at = (size_t)snprintf(answer->text, sizeof answer->text,
                                       "HTTP/1.1 %s\r\nServer: %s\r\nDate: ", kAnswers[kind].status, kHttpServer);
    const size_t body_size = strlen(kAnswers[kind].body);
    answer->size =
        answer->date_at +
        (size_t)snprintf(answer->text + answer->date_at, sizeof answer->text - answer->date_at,
                         "%s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%sConnection: %s\r\n\r\n%s", date, kHttpType,
                         body_size, kAnswers[kind].extra, kAnswers[kind].connection, kAnswers[kind].body);
    answer->head_size = answer->size - body_size;
  }
}

void raw_answers_refresh(void) {
  const char* date = http_date();
  if (memcmp(date, date_of_answers, kHttpDateBytes) == 0) return;
  if (answers[kPage].size == 0) make_answers(date);
  for (int kind = 0; kind < kAnswerKinds; ++kind) {
    memcpy(answers[kind].text + answers[kind].date_at, date, kHttpDateBytes);
  }
  memcpy(date_of_answers, date, kHttpDateBytes);
}

// True if the value of the Connection header field begins with `word`. Searches the header lines from `line` to `end`.
static bool asks_for(const char* line, const char* end, const char* word) {
  static const char name[] = "connection:";
  while (line < end) {
    const char* line_end = memchr(line, '\r', (size_t)(end - line));
    if (line_end == NULL) line_end = end;
    if ((*line | 0x20) == 'c' && line_end - line > (long)sizeof name && strncasecmp(line, name, sizeof name - 1) == 0) {
      const char* value = line + sizeof name - 1;
      while (*value == ' ') ++value;
      return strncasecmp(value, word, strlen(word)) == 0;
    }
    line = line_end + 2;
  }
  return false;
}

// Chooses the answer to one complete request. `end` points to the CRLF CRLF at the end of the request. Sets `is_head`
// if the method is HEAD.
static enum answer_kind judge(const char* request, const char* end, bool* is_head) {
  static const char version[] = "HTTP/1.";
  const char* line_end = memchr(request, '\r', (size_t)(end - request) + 1);
  const char* method_end = memchr(request, ' ', (size_t)(line_end - request));
  if (method_end == NULL) return kBadRequest;
  const char* target = method_end + 1;
  const char* target_end = memchr(target, ' ', (size_t)(line_end - target));
  if (target_end == NULL || line_end - target_end != sizeof version + 1) return kBadRequest;
  if (memcmp(target_end + 1, version, sizeof version - 1) != 0) return kBadRequest;
  const size_t method_size = (size_t)(method_end - request);
  *is_head = method_size == 4 && memcmp(request, "HEAD", 4) == 0;
  if (!*is_head && (method_size != 3 || memcmp(request, "GET", 3) != 0)) return kNoMethod;
  const bool stays =
      line_end[-1] == '0' ? asks_for(line_end + 2, end, "keep-alive") : !asks_for(line_end + 2, end, "close");
  if (http_is_page(target, (size_t)(target_end - target))) return stays ? kPage : kPageClose;
  return stays ? kNoPage : kNoPageClose;
}

struct raw_outcome raw_answer(const char* in, size_t size, char* out, size_t room) {
  struct raw_outcome outcome = {0};
  while (!outcome.ends && outcome.taken < size && room - outcome.written >= kRawAnswerBytes) {
    const char* request = in + outcome.taken;
    const size_t left = size - outcome.taken;
    const char* end = memmem(request, left, "\r\n\r\n", 4);
    enum answer_kind kind = kTooLarge;
    bool is_head = false;
    if (end != NULL && end - request <= kHttpMaxHeaderBytes) {
      kind = judge(request, end, &is_head);
      outcome.taken += (size_t)(end - request) + 4;
    } else if (left <= kHttpMaxHeaderBytes) {
      return outcome;
    }
    const struct answer* answer = &answers[kind];
    const size_t answer_size = is_head ? answer->head_size : answer->size;
    memcpy(out + outcome.written, answer->text, answer_size);
    outcome.written += answer_size;
    outcome.ends = kind != kPage && kind != kNoPage;
  }
  return outcome;
}
