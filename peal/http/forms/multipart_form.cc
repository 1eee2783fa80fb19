// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/forms/multipart_form.h>

#include <cerrno>
#include <utility>

#include <peal/base/memory/memory_charge.h>
#include <peal/coro/run_on.h>

namespace peal {
namespace {

int status_of_disk(std::error_code error) {
  return error == errno_code(ENOSPC) || error == errno_code(EDQUOT) ? 507 : 500;
}

// The calls that wait for the disk, as tasks: on_disk() runs them on another loop if there is one.
Task<Result<SavedFile>> create_file(std::string folder) { co_return SavedFile::create(folder); }
Task<Result<void>> append_to(SavedFile& file, std::string_view bytes) { co_return file.append(bytes); }
Task<Result<void>> sync_file(SavedFile& file) { co_return file.sync(); }

template <class T>
Task<Result<T>> on_disk(Loop* disk, Task<Result<T>> work) {
  if (disk == nullptr) co_return co_await std::move(work);
  co_return co_await run_on(*disk, std::move(work));
}

}  // namespace

MultipartForm::MultipartForm(HttpExchange& exchange, const MultipartLimits& limits) : exchange_(exchange) {
  const HttpRequestHead& head = exchange.request();
  const auto boundary = multipart_boundary(head.find("Content-Type").value_or(""));
  if (boundary && !head.find("Content-Encoding")) reader_.emplace(*boundary, limits);
}

std::unexpected<std::error_code> MultipartForm::refuse(int status, std::error_code error) {
  trouble_ = error;
  if (!exchange_.begun()) exchange_.respond(status);
  return std::unexpected(trouble_);
}

// Reads up to the next event and returns it; kNone at the end of the body.
Task<Result<MultipartEvent>> MultipartForm::advance() {
  if (trouble_) co_return std::unexpected(trouble_);
  if (!reader_) co_return refuse(415, errno_code(EMEDIUMTYPE));
  for (;;) {
    input_.consume(std::exchange(taken_, 0));
    if (input_.empty()) {
      Result<Buffer> piece = co_await exchange_.read();
      if (!piece) {
        trouble_ = piece.error();
        co_return std::unexpected(trouble_);
      }
      if (piece->empty()) reader_->finish();
      input_ = std::move(*piece);
    }
    const std::string_view bytes = input_.front();
    if (!bytes.empty()) taken_ = reader_->step(bytes);
    if (const MultipartFault fault = reader_->fault(); fault != MultipartFault::kNone) {
      const int status = http_status(fault);
      co_return refuse(status, errno_code(status == 413 ? E2BIG : EBADMSG));
    }
    if (bytes.empty()) co_return MultipartEvent::kNone;
    if (reader_->event() != MultipartEvent::kNone) co_return reader_->event();
  }
}

Task<Result<FormPart*>> MultipartForm::next() {
  for (;;) {
    const Result<MultipartEvent> event = co_await advance();
    if (!event) co_return std::unexpected(event.error());
    if (*event == MultipartEvent::kEnd) in_part_ = false;
    if (*event == MultipartEvent::kNone) co_return nullptr;
    if (*event != MultipartEvent::kPart) continue;
    in_part_ = true;
    part_.emplace(FormPart(*this, std::move(reader_->part())));
    co_return &*part_;
  }
}

Task<Result<std::string_view>> MultipartForm::read_part() {
  if (!in_part_) co_return std::string_view();
  const Result<MultipartEvent> event = co_await advance();
  if (!event) co_return std::unexpected(event.error());
  if (*event == MultipartEvent::kData) co_return reader_->data();
  in_part_ = false;
  co_return std::string_view();
}

Task<Result<std::string_view>> FormPart::read() { return form_->read_part(); }

Task<Result<std::string>> FormPart::read_all(size_t limit_bytes) {
  std::string text;
  MemoryCharge charge;
  for (;;) {
    const Result<std::string_view> piece = co_await read();
    if (!piece) co_return std::unexpected(piece.error());
    if (piece->empty()) co_return text;
    if (piece->size() > limit_bytes - text.size()) co_return form_->refuse(413, errno_code(EMSGSIZE));
    text.append(*piece);
    if (!charge.set_and_check(text.capacity())) co_return form_->refuse(503, errno_code(ENOMEM));
  }
}

Task<Result<SavedFile>> FormPart::save(std::string folder, SaveOptions options) {
  const auto refuse = [this](std::error_code error) { return form_->refuse(status_of_disk(error), error); };
  Result<SavedFile> file = co_await on_disk(options.disk, create_file(std::move(folder)));
  if (!file) co_return refuse(file.error());
  for (;;) {
    const Result<std::string_view> piece = co_await read();
    if (!piece) co_return std::unexpected(piece.error());
    if (piece->empty()) break;
    if (piece->size() > options.limit_bytes - file->bytes()) co_return form_->refuse(413, errno_code(EMSGSIZE));
    const Result<void> written = co_await on_disk(options.disk, append_to(*file, *piece));
    if (!written) co_return refuse(written.error());
  }
  if (options.sync) {
    const Result<void> synced = co_await on_disk(options.disk, sync_file(*file));
    if (!synced) co_return refuse(synced.error());
  }
  co_return file;
}

}  // namespace peal
