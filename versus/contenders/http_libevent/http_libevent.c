// SPDX-License-Identifier: BSD-3-Clause
// An HTTP server on evhttp, libevent's own. Tuned in these ways:
// - There are no locks; each thread has its own base, server and listener.
// - The program sets the headers itself, because evhttp would format a Date for every answer.
// - The body is passed by reference, not copied.
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
  evhttp_add_header(headers, "Connection", "keep-alive");  // evhttp sends "close" instead if the request asks for it
  // An answer to HEAD must have no body. evhttp would send a body that is added here.
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
