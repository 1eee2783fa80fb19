// SPDX-License-Identifier: BSD-3-Clause
// MultipartForm: reads a form with files (multipart/form-data, RFC 7578) part by part, while the request arrives.
//
//   peal::MultipartForm form(exchange);
//   for (;;) {
//     const peal::Result<peal::FormPart*> part = co_await form.next();
//     if (!part) co_return;           // the form has answered the request with an error
//     if (*part == nullptr) break;    // the form has no more parts
//     ... co_await (*part)->save("/srv/uploads") ... co_await (*part)->read_all(4096) ...
//   }
//
// However large a file is, at most 128 KiB of it are held in memory: if the handler reads too slowly, the client has to
// wait. The route limits the length of the whole form: RouteOptions::body_limit_bytes, 1 MiB by default. A longer form
// is answered 413.
//
// After an error the form cannot be read further, and every later call fails with the same error. Unless the handler
// has begun an answer, the form has answered the request:
//   - 415, EMEDIUMTYPE: the request is not a multipart form, or has a Content-Encoding.
//   - 400, EBADMSG: the form is malformed, or ends too soon.
//   - 413, E2BIG: the form has more parts, or a part has a larger head, than MultipartLimits allows.
//   - Other errors are those of HttpExchange::read().
//
// Only the coroutine that answers the exchange may use the form, and only as long as the exchange exists.
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
  // The longest file that is saved. A longer one fails with EMSGSIZE and is answered 413.
  uint64_t limit_bytes = UINT64_MAX;
  // True if save() returns only when the file is on the disk, and not just in the kernel's memory (fsync(2)).
  bool sync = false;
  // A loop of another thread that writes the file for save(). Then a slow disk delays only the clients whose files are
  // saved through that loop. If null, the form's own loop waits for the disk, and all its connections with it. Usually
  // it waits only for the page cache: some 20 us for 20 KiB. SavedFile::keep() always waits on the loop that calls it.
  Loop* disk = nullptr;
};

// The current part of a form: its name, its file name and media type, and its bytes. MultipartForm::next() skips the
// bytes that were not read.
class FormPart : public MultipartPart {
 public:
  // True if the client sent a file name with this part.
  bool is_file() const { return file_name.has_value(); }
  // Returns the next bytes as they arrived; empty at the end of the part. The view is valid until the next call on this
  // part or its form.
  Task<Result<std::string_view>> read();
  // Returns the rest of the part. Fails with EMSGSIZE and answers 413 if the rest is longer than `limit_bytes`. Fails
  // with ENOMEM and answers 503 if the process is above its hard mark of memory (memory_budget.h).
  Task<Result<std::string>> read_all(size_t limit_bytes);
  // Writes the rest of the part into a new file in `folder`, which must exist. Nothing that the client sent becomes
  // part of the path. If the disk fails, the error is the disk's errno value; the request is answered 507 for ENOSPC
  // and EDQUOT, otherwise 500.
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

  // Skips what is left of the current part and returns the next one; null at the end of the form. The part is valid
  // until the next call of next().
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
  size_t taken_ = 0;  // bytes of input_ that the last event covers: consumed by the next advance()
  std::error_code trouble_;
  bool in_part_ = false;  // true until the end of the current part has been read
};

}  // namespace peal
