// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/http_download.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <peal/http/client/parts/http_part_file.h>
#include <peal/http/client/parts/http_pool.h>
#include <peal/wire/content/http_range.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/parse_text.h>

namespace peal {
namespace {

bool has_field(const HttpClientRequest& request, std::string_view name) {
  return std::ranges::any_of(request.fields, [&](const auto& field) { return same_field_name(field.name, name); });
}

// Returns the body's length that the head names. Returns nullopt if the head names no length or has a
// Transfer-Encoding.
std::optional<uint64_t> content_length(const HttpResponseHead& head) {
  if (head.find("Transfer-Encoding")) return std::nullopt;
  const auto text = head.find("Content-Length");
  if (!text) return std::nullopt;
  // If the value of Content-Length is a list, the parser has checked that all its elements are equal.
  std::string_view list = *text;
  std::string_view first;
  return next_list_element(list, first) ? parse_text<uint64_t>(first) : std::nullopt;
}

}  // namespace

class HttpDownload::Run : public std::enable_shared_from_this<Run> {
 public:
  Run(std::weak_ptr<detail::HttpPool> pool, HttpClientRequest request, detail::HttpPartFile file,
      HttpDownloadOptions options, Done on_done)
      : pool_(std::move(pool)),
        request_(std::move(request)),
        file_(std::move(file)),
        options_(std::move(options)),
        on_done_(std::move(on_done)) {}

  // Sends the first request. If the ".part" file can be continued, the request asks for the bytes that the file lacks,
  // otherwise for the whole content.
  Result<void> begin() {
    asked_from_ = options_.resume ? file_.find(request_.url) : 0;
    return ask();
  }
  void cancel() {
    on_done_ = nullptr;
    options_.on_progress = nullptr;
    drop_fetch();
    file_.close();
  }

 private:
  void drop_fetch() {
    const auto pool = pool_.lock();
    HttpFetch* const fetch = pool ? pool->find(std::exchange(fetch_, HttpFetchId::kNone)) : nullptr;
    if (fetch != nullptr) fetch->cancel();
  }
  Result<void> ask() {
    HttpClientRequest request = request_;
    if (asked_from_ > 0) {
      request.add("Range", "bytes=" + std::to_string(asked_from_) + "-");
      request.add("If-Range", file_.validator());
    }
    const Result<HttpFetchId> id = pool_.lock()->start(std::move(request), callbacks(), false);
    if (!id) return std::unexpected(id.error());
    fetch_ = *id;
    return {};
  }

  HttpFetchCallbacks callbacks() {
    const auto weak = weak_from_this();
    return {.on_head =
                [weak](HttpFetch& fetch, const HttpResponseHead& head) {
                  if (const auto self = weak.lock()) self->take_head(fetch, head);
                },
            .on_body =
                [weak](HttpFetch&, std::string_view bytes) {
                  if (const auto self = weak.lock()) self->take_body(bytes);
                },
            .on_done =
                [weak](const Result<void>& how) {
                  if (const auto self = weak.lock()) self->take_end(how);
                }};
  }

  void take_head(HttpFetch& fetch, const HttpResponseHead& head) {
    done_.url = fetch.url().to_string();
    if (head.status() == 200) {
      at_ = 0;
      total_ = content_length(head);
      if (total_.value_or(0) > options_.limit_bytes) return end(fail(HttpTrouble::kAnswerTooLarge));
      const Result<void> begun = file_.begin(request_.url, detail::strong_validator(head));
      if (!begun) return end(std::unexpected(begun.error()));
    } else if (asked_from_ > 0 && (head.status() == 416 || (head.status() == 206 && !continues(head)))) {
      return start_over();
    } else if (head.status() != 206) {
      return end(std::unexpected(server_refusal(head.status())));
    } else if (asked_from_ == 0) {
      return end(fail(HttpTrouble::kBadPart));  // the request had no Range
    } else if (*total_ > options_.limit_bytes) {
      return end(fail(HttpTrouble::kAnswerTooLarge));
    }
    done_.resumed_bytes = at_;
    report_progress();
  }

  // Returns true if the answer has exactly the bytes that the ".part" file lacks. In that case, sets total_ and at_.
  bool continues(const HttpResponseHead& head) {
    const auto said = head.find("Content-Range");
    const auto part = said ? parse_http_content_range(*said) : std::nullopt;
    if (!part || !part->range || part->range->first != asked_from_) return false;
    total_ = part->range->first + part->range->bytes;
    if (part->total_bytes != total_)
      return false;  // an unknown length: the answer may be less than the rest (RFC 9110 14.2)
    if (content_length(head).value_or(part->range->bytes) != part->range->bytes) return false;
    // The ETag or Last-Modified is compared here as well, since some servers ignore If-Range. A 206 may omit
    // Last-Modified (RFC 9110 15.3.7).
    const bool tagged = file_.validator().starts_with('"');
    const auto version = head.find(tagged ? "ETag" : "Last-Modified");
    if (version ? *version != file_.validator() : tagged) return false;
    at_ = asked_from_;
    return true;
  }

  void start_over() {
    drop_fetch();
    asked_from_ = 0;
    if (const Result<void> asked = ask(); !asked) end(std::unexpected(asked.error()));
  }

  void take_body(std::string_view bytes) {
    if (total_ && bytes.size() > *total_ - at_) return end(fail(HttpTrouble::kBadPart));
    if (bytes.size() > options_.limit_bytes - at_) return end(fail(HttpTrouble::kAnswerTooLarge));
    const Result<void> written = file_.write(at_, bytes);
    if (!written) return end(std::unexpected(written.error()));
    at_ += bytes.size();
    if (now() >= next_progress_) report_progress();
  }

  void take_end(const Result<void>& how) {
    fetch_ = HttpFetchId::kNone;
    if (!how) return end(std::unexpected(how.error()));
    if (total_ && at_ != *total_) return end(fail(HttpTrouble::kBadPart));
    if (const Result<void> completed = file_.complete(at_, options_.sync); !completed) {
      return end(std::unexpected(completed.error()));
    }
    total_ = at_;
    done_.bytes = at_;
    const auto keep = shared_from_this();
    report_progress();
    end(std::move(done_));
  }

  TimePoint now() const { return pool_.lock()->loop()->now(); }

  void report_progress() {
    next_progress_ = later(now(), options_.progress_interval);
    // The callback may destroy the download, and on_progress with it. The callback is therefore moved to a local
    // variable for the call.
    if (!options_.on_progress) return;
    auto callback = std::exchange(options_.on_progress, nullptr);
    callback(at_, total_);
    if (on_done_) options_.on_progress = std::move(callback);
  }

  void end(Result<HttpDownloaded> how) {
    auto callback = std::exchange(on_done_, nullptr);
    cancel();
    if (callback) callback(std::move(how));
  }

  const std::weak_ptr<detail::HttpPool> pool_;
  const HttpClientRequest request_;
  detail::HttpPartFile file_;
  HttpDownloadOptions options_;
  Done on_done_;  // null after the download has ended
  HttpFetchId fetch_ = HttpFetchId::kNone;
  uint64_t asked_from_ = 0;
  uint64_t at_ = 0;  // bytes of the file so far
  std::optional<uint64_t> total_;
  TimePoint next_progress_{};
  HttpDownloaded done_;
};

Result<std::unique_ptr<HttpDownload>> HttpDownload::start(HttpClient& client, HttpClientRequest request,
                                                          const std::string& path, HttpDownloadOptions options,
                                                          Done on_done) {
  const bool is_plain = request.method == "GET" && request.body.empty() && !request.streamed && !request.may_upgrade;
  if (!is_plain || has_field(request, "Range") || has_field(request, "If-Range")) {
    return fail(HttpTrouble::kBadRequest);
  }
  request.decode = false;
  if (!has_field(request, "Accept-Encoding")) request.add("Accept-Encoding", "identity");
  Result<detail::HttpPartFile> file = detail::HttpPartFile::open(path);
  if (!file) return std::unexpected(file.error());
  auto run =
      std::make_shared<Run>(client.pool_, std::move(request), std::move(*file), std::move(options), std::move(on_done));
  if (const Result<void> begun = run->begin(); !begun) return std::unexpected(begun.error());
  return std::unique_ptr<HttpDownload>(new HttpDownload(std::move(run)));
}

HttpDownload::~HttpDownload() { run_->cancel(); }

bool HttpDownloadAwait::start() {
  auto started = HttpDownload::start(client_, std::move(request_), path_, std::move(options_),
                                     [this](Result<HttpDownloaded> done) {
                                       done_ = std::move(done);
                                       complete(0);
                                     });
  if (started) {
    download_ = std::move(*started);
    return true;
  }
  done_ = std::unexpected(started.error());
  end();
  return false;
}

Result<HttpDownloaded> HttpDownloadAwait::await_resume() {
  if (why_ != 0) return detail::failed(why_);
  return std::move(*done_);
}

void HttpDownloadAwait::cancel(detail::Why why) noexcept {
  download_.reset();
  complete(why);
}

}  // namespace peal
