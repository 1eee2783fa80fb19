// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/files/parts/file_service.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include <peal/http/files/parts/file_answer.h>
#include <peal/http/parts/accepted_codings.h>
#include <peal/wire/content/http_range.h>
#include <peal/wire/uri/http_path.h>

namespace peal::detail {
namespace {

bool reads(HttpMethod method) { return method == HttpMethod::kGet || method == HttpMethod::kHead; }

int64_t unix_now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The coding of `file` that the request prefers; std::nullopt if it accepts none. With `packs` a coding also counts if
// FileCache::pack() could make it.
std::optional<ContentCoding> choose_coding(const HttpRequestHead& request, const ServedFile& file, bool packs = true) {
  std::array<ContentCoding, kContentCodings> available;
  size_t count = 0;
  for (const ContentCoding coding : {ContentCoding::kIdentity, ContentCoding::kGzip, ContentCoding::kZstd}) {
    const bool is_file = coding == ContentCoding::kIdentity || file.of(coding).file != nullptr;
    if (file.has(coding) && (packs || is_file)) available[count++] = coding;
  }
  return accepted_codings(request).choose(std::span(available.data(), count));
}

bool asks_for_part(const HttpRequestHead& request) {
  return request.method() == HttpMethod::kGet && request.find("range").has_value();
}

// Chooses the coding like choose_coding(), and compresses the file if the chosen variant does not exist yet. A request
// for a range gets the plain file, as from nginx, or a compressed file from the disk. If the client accepts neither, it
// gets the whole file, compressed here. Its range is ignored then, because a client could not join such bytes with its
// other ranges.
std::optional<ContentCoding> coding_for(const HttpRequestHead& request, FileCache& cache, ServedFile& file) {
  if (asks_for_part(request)) {
    if (const auto stands = choose_coding(request, file, false)) return stands;
  }
  const auto wanted = choose_coding(request, file);
  if (!wanted || cache.pack(file, *wanted) == *wanted) return wanted;
  // pack() has not made the variant. If compressing did not make the file smaller, the file is no longer packable, and
  // a second choice considers only what exists. If the allowance of this second is used up, the plain file is sent.
  const auto other = choose_coding(request, file);
  return other && !file.of(*other).exists() ? ContentCoding::kIdentity : other;
}

// Redirects to the same path with a slash at its end. The Location is relative and begins with "./", so that no folder
// name can turn it into another host ("//evil") or another scheme.
void redirect_to_folder(HttpExchange& exchange, std::string_view path) {
  std::string location = "./";
  append_http_escaped(path.substr(path.rfind('/') + 1), location);
  location += '/';
  const std::string_view query = exchange.request().query();
  if (!query.empty()) location.append("?").append(query);
  exchange.set_field("Location", location);
  exchange.respond(301);
}

int status_of(std::error_code error) {
  switch (error.value()) {
    case EACCES:
    case EPERM: return 403;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN: return 503;
    case EIO: return 500;
    // The answer does not tell whether the path does not exist, is no regular file, is too long, or leaves the root.
    default: return 404;
  }
}

}  // namespace

FileService::~FileService() {
  for (Shard* shard = shards_.load(std::memory_order_acquire); shard != nullptr;) {
    delete std::exchange(shard, shard->next);
  }
}

// The cache of a loop that was destroyed stays in the list. A later loop at the same address uses it.
FileCache& FileService::cache_of(Loop& loop) {
  Shard* first = shards_.load(std::memory_order_acquire);
  for (Shard* shard = first; shard != nullptr; shard = shard->next) {
    if (&shard->cache->loop() == &loop) return *shard->cache;
  }
  auto* shard = new Shard{std::make_shared<FileCache>(loop, root_, options_), first};
  while (!shards_.compare_exchange_weak(shard->next, shard, std::memory_order_acq_rel)) {
  }
  return *shard->cache;
}

bool FileService::is_servable(std::string_view path) const {
  bool first = true;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (segment.empty() || segment == "." || segment == ".." || segment.contains('\0')) return false;
    if (segment.front() == '.' && !options_.hidden && !(first && segment == ".well-known")) return false;
    first = false;
  }
  return true;
}

void FileService::serve(HttpExchange& exchange, std::string_view path) {
  const HttpMethod method = exchange.request().method();
  if (!reads(method)) {
    exchange.set_field("Allow", "GET, HEAD, OPTIONS");
    return method == HttpMethod::kOptions ? exchange.respond(204) : exchange.respond(405);
  }
  if (!is_servable(path)) return exchange.respond(404);
  FileCache& cache = cache_of(exchange.loop());
  const bool folder = path.empty() || path.ends_with('/');
  if (folder && options_.index.empty()) return exchange.respond(404);
  const Result<ServedFile*> file = folder ? cache.find(std::string(path) + options_.index) : cache.find(path);
  if (!file) return answer_missing(exchange, folder ? std::string_view() : path, file.error());
  answer_with(exchange, cache, **file);
}

// `path` is empty if the client asked for a folder and its index file could not be opened.
void FileService::answer_missing(HttpExchange& exchange, std::string_view path, std::error_code error) {
  if (error.value() == EISDIR && !path.empty() && !options_.index.empty()) return redirect_to_folder(exchange, path);
  exchange.respond(status_of(error));
}

void FileService::answer_with(HttpExchange& exchange, FileCache& cache, ServedFile& file) {
  const HttpRequestHead& request = exchange.request();
  const bool varies = file.has_codings();
  const auto chosen = coding_for(request, cache, file);
  if (varies || !chosen) exchange.set_field("Vary", "Accept-Encoding");
  if (!chosen) return exchange.respond(406);
  const ContentCoding coding = *chosen;
  const FileVariant& variant = file.of(coding);
  HttpPrecondition precondition(
      {.entity_tag = variant.entity_tag, .last_modified = file.modified, .now = unix_now(), .exists = true});
  for (const HttpField field : request.fields()) precondition.take(field.name, field.value);
  const auto answer = precondition.answer(true);
  if (answer == HttpPrecondition::Answer::kFailed) return exchange.respond(412);
  HttpRanges ranges;
  auto part = HttpRanges::Answer::kWhole;
  if (answer == HttpPrecondition::Answer::kProceed && asks_for_part(request) && !variant.is_made_here()) {
    part = precondition.ranges(variant.bytes, ranges);
  }
  if (part == HttpRanges::Answer::kUnsatisfiable) {
    exchange.set_field("Content-Range", http_content_range(variant.bytes));
    return exchange.respond(416);
  }
  set_fields(exchange, file, coding);
  if (answer == HttpPrecondition::Answer::kNotModified) return exchange.respond(304);
  if (part == HttpRanges::Answer::kWhole) return send_whole(exchange, file.media_type, variant);
  send_ranges(exchange, file.media_type, variant, ranges.all());
}

// Sets the fields that an answer of 304 must or may carry too (RFC 9110 15.4.5).
void FileService::set_fields(HttpExchange& exchange, const ServedFile& file, ContentCoding coding) {
  exchange.set_field("ETag", file.of(coding).entity_tag);
  exchange.set_field("Last-Modified", {file.last_modified.data(), file.last_modified.size()});
  if (!options_.cache_control.empty()) exchange.set_field("Cache-Control", options_.cache_control);
  exchange.set_field("Accept-Ranges", "bytes");
  exchange.set_field("X-Content-Type-Options", "nosniff");
  if (coding != ContentCoding::kIdentity) exchange.set_field("Content-Encoding", to_string(coding));
}

}  // namespace peal::detail
