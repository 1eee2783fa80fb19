// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/http_client.h>

#include <cerrno>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/memory/memory_charge.h>
#include <peal/http/client/parts/http_pool.h>

namespace peal {
namespace {

// State of one call of fetch(): the answer that is being collected, and the callback that gets the answer.
struct Collection {
  HttpResponse response;
  HttpClient::Answered on_answer;
  size_t limit_bytes;
  MemoryCharge charge;  // counts the memory of the body

  void add(HttpFetch& fetch, std::string_view bytes) {
    if (bytes.size() > limit_bytes - response.body.size()) {
      return give_up(fetch, make_error_code(HttpTrouble::kAnswerTooLarge));
    }
    response.body += bytes;
    if (!charge.set_and_check(response.body.capacity())) give_up(fetch, errno_code(ENOMEM));
  }
  void give_up(HttpFetch& fetch, std::error_code error) {
    auto answer = std::move(on_answer);
    fetch.cancel();
    answer(std::unexpected(error));
  }
};

}  // namespace

HttpClient::HttpClient(Loop& loop, const HttpClientOptions& options)
    : loop_(loop), pool_(std::make_shared<detail::HttpPool>(loop, options)) {}

HttpClient::~HttpClient() {
  PEAL_ASSERT(pool_->may_be_touched(),
              "an HttpClient with {} connections is destroyed while its loop runs on another thread",
              pool_->stats().connections);
  pool_->retire();
}

Result<HttpFetchId> HttpClient::fetch(HttpClientRequest request, Answered on_answer) {
  auto collection = std::make_shared<Collection>(HttpResponse(), std::move(on_answer),
                                                 pool_->options().answer_limit_bytes, MemoryCharge());
  HttpFetchCallbacks callbacks;
  callbacks.on_head = [collection](HttpFetch& fetch, const HttpResponseHead& head) {
    collection->response.head = head;
    collection->response.url = fetch.url().to_string();
    collection->response.body.clear();  // the body of an earlier attempt, which broke off
  };
  callbacks.on_body = [collection](HttpFetch& fetch, std::string_view bytes) {
    collection->add(fetch, bytes);
    fetch.count_gathered(collection->charge.bytes());
  };
  callbacks.on_trailers = [collection](HttpFetch&, std::string_view lines) { collection->response.trailers = lines; };
  callbacks.on_done = [collection](const Result<void>& how) {
    if (!collection->on_answer) return;
    if (!how) return collection->on_answer(std::unexpected(how.error()));
    collection->on_answer(std::move(collection->response));
  };
  return pool_->start(std::move(request), std::move(callbacks), true);
}

Result<HttpFetchId> HttpClient::start(HttpClientRequest request, HttpFetchCallbacks callbacks) {
  return pool_->start(std::move(request), std::move(callbacks), false);
}

HttpFetch* HttpClient::find(HttpFetchId id) { return pool_->find(id); }

bool HttpClient::cancel(HttpFetchId id) {
  HttpFetch* const fetch = pool_->find(id);
  if (fetch != nullptr) fetch->cancel();
  return fetch != nullptr;
}

HttpClientStats HttpClient::stats() const { return pool_->stats(); }

}  // namespace peal
