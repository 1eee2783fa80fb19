// SPDX-License-Identifier: BSD-3-Clause
// MultipartForm: a form with files (multipart/form-data, RFC 7578), part by part as it comes.
//
//   peal::MultipartForm form(exchange);
//   for (;;) {
//     const peal::Result<peal::FormPart*> part = co_await form.next();
//     if (!part) co_return;           // it has been answered
//     if (*part == nullptr) break;    // that was all of it
//     ... co_await (*part)->save("/srv/uploads") ... co_await (*part)->read_all(4096) ...
//   }
//
// However large a file is, no more of it is held than what came while nobody read: 128 KiB at most; the client waits.
// How long the form may be in all is the route's (RouteOptions::body_limit_bytes, 1 MiB unless it says so): 413.
//
// What cannot go on has been answered, unless an answer had begun: 415, EMEDIUMTYPE, where the request is no such form
// or its content has a coding; 400, EBADMSG, where it is malformed or cut short; 413, E2BIG, for more parts or a larger
// head of one than MultipartLimits says. Other errors are HttpExchange::read()'s. The first one is what every later
// call answers.
//
// For the coroutine that answers the exchange, and good as long as that is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/coro/task.h>
#include <peal/http/forms/saved_file.h>
#include <peal/http/server/http_exchange.h>
#include <peal/wire/forms/multipart_reader.h>

namespace peal {

class MultipartForm;

struct SaveOptions {
  // Of the file: EMSGSIZE, and 413, for a longer one.
  uint64_t limit_bytes = UINT64_MAX;
  // It is on the disk before it is told of, not in the kernel's memory alone.
  bool sync = false;
  // A loop of another thread, on which the disk is waited for: its slowness then holds up this client and nobody else.
  // Without one the form's own loop waits, mostly for the page cache: some 20 us for 20 KiB.
  Loop* disk = nullptr;
};

// The part under way: what it is called, and its bytes. What is not read of it is passed over by next().
class FormPart : public MultipartPart {
 public:
  bool is_file() const { return file_name.has_value(); }
  // The next piece as it came, empty at the end of the part; good until the next call of anything here.
  Task<Result<std::string_view>> read();
  // The rest of it. EMSGSIZE, and 413, where that is longer than `limit_bytes`; ENOMEM, and 503, where the process is
  // above its hard mark.
  Task<Result<std::string>> read_all(size_t limit_bytes);
  // The rest of it into a file in `folder`, which is the caller's choice and exists. Nothing that the client says
  // becomes part of a path. What the disk answers is the error, 507 for ENOSPC and EDQUOT and else 500.
  Task<Result<SavedFile>> save(std::string folder, SaveOptions options = {});

 private:
  friend class MultipartForm;
  FormPart(MultipartForm& form, MultipartPart&& head) : MultipartPart(std::move(head)), form_(&form) {}

  MultipartForm* form_;
};

class MultipartForm {
 public:
  explicit MultipartForm(HttpExchange& exchange, const MultipartLimits& limits = {});
  MultipartForm(const MultipartForm&) = delete;
  MultipartForm& operator=(const MultipartForm&) = delete;

  // The next part, good until the next one; null when the form has been read to its end.
  Task<Result<FormPart*>> next();

 private:
  friend class FormPart;

  Task<Result<MultipartEvent>> advance();
  Task<Result<std::string_view>> read_part();
  std::unexpected<std::error_code> refuse(int status, std::error_code error);

  HttpExchange& exchange_;
  std::optional<MultipartReader> reader_;
  std::optional<FormPart> part_;
  Buffer input_;
  size_t taken_ = 0;  // of input_, by what was shown last
  std::error_code trouble_;
  bool in_part_ = false;  // its end has not come
};

}  // namespace peal
