// SPDX-License-Identifier: BSD-3-Clause
// cppcms with its own HTTP service, set up as in its published comparison: one process, one epoll thread, and five
// worker threads per core; here, five for each of --threads. The application is synchronous, without sessions,
// compression or forms.
#include <string>

#include <cppcms/application.h>
#include <cppcms/applications_pool.h>
#include <cppcms/http_request.h>
#include <cppcms/http_response.h>
#include <cppcms/json.h>
#include <cppcms/service.h>

#include "contender_http.h"
#include "rival.h"

namespace {

constexpr int kWorkersPerCore = 5;

class Collect : public cppcms::application {
 public:
  explicit Collect(cppcms::service& service) : cppcms::application(service) {}

  void main(std::string path) override {
    response().io_mode(cppcms::http::response::nogzip);
    const std::string method = request().request_method();
    if (!http_is_page(path.data(), path.size())) {
      response().make_error_response(404);
    } else if (method != "GET" && method != "HEAD") {
      response().make_error_response(405);
    } else {
      response().content_type(kHttpType);
      response().set_header("Date", http_date());
      response().content_length(sizeof kHttpBody - 1);
      if (method == "GET") response().out() << kHttpBody;
    }
  }
};

cppcms::json::value settings_for(const rival_place& place, int threads) {
  cppcms::json::value settings;
  settings.set("service.api", "http");
  settings.set("service.ip", place.host);
  settings.set("service.port", place.port);
  settings.set("service.worker_threads", kWorkersPerCore * threads);
  settings.set("service.backlog", int{kContenderBacklog});
  settings.set("service.disable_xpowered_by", true);
  settings.set("localization.disable_charset_in_content_type", true);
  settings.set("session.location", "none");
  settings.set("gzip.enable", false);
  settings.set("logging.level", "error");
  return settings;
}

}  // namespace

int serve(const contender_options* options) {
  const rival_place place = rival_place_of(options);
  cppcms::service service(settings_for(place, options->threads));
  service.applications_pool().mount(cppcms::applications_factory<Collect>());
  rival_announce_once_it_accepts(&place);
  service.run();
  return 0;
}
