// SPDX-License-Identifier: BSD-3-Clause
// libevent's own HTTP server, evhttp. Tuned as its users can: no locks, a base, a server and a listener per thread, the
// headers set by the program (evhttp would format a Date for every answer), the body referred to rather than copied.
#include <string.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "contender_http.h"
#include "contender_libevent.h"

static void on_request(struct evhttp_request* request, void* context) {
  (void)context;
  const char* target = evhttp_request_get_uri(request);
  if (!http_is_page(target, strlen(target))) {
    evhttp_send_error(request, HTTP_NOTFOUND, NULL);
    return;
  }
  struct evkeyvalq* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Server", kHttpServer);
  evhttp_add_header(headers, "Date", http_date());
  evhttp_add_header(headers, "Content-Type", kHttpType);
  evhttp_add_header(headers, "Content-Length", kHttpBodySize);
  evhttp_add_header(headers, "Connection", "keep-alive");  // evhttp says "close" to whoever asked for it
  // evhttp would send the body of a HEAD's answer too.
  if (evhttp_request_get_command(request) != EVHTTP_REQ_HEAD) {
    evbuffer_add_reference(evhttp_request_get_output_buffer(request), kHttpBody, sizeof kHttpBody - 1, NULL, NULL);
  }
  evhttp_send_reply(request, HTTP_OK, NULL, NULL);
}

static void serve_thread(int listener_fd) {
  struct event_base* base = new_base();
  struct evhttp* http = evhttp_new(base);
  struct evhttp_bound_socket* bound = http == NULL ? NULL : evhttp_accept_socket_with_handle(http, listener_fd);
  if (bound == NULL) fail("evhttp_accept_socket_with_handle");
  evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), on_accept_error);
  evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
  evhttp_set_max_headers_size(http, kHttpMaxHeaderBytes);
  evhttp_set_gencb(http, on_request, NULL);
  event_base_dispatch(base);
  fail("event_base_dispatch");
}

int serve(const struct contender_options* options) { return serve_on_each_thread(options, serve_thread); }
