// SPDX-License-Identifier: BSD-3-Clause
// Measures TLS handshakes only: opens --handshakes connections, one after the other. Both sides end each connection
// when the session ticket has arrived. With --resume 1 one full handshake comes first, and each later one resumes the
// session of the previous ticket. If the server does not resume, the program fails.
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "bare_tls.h"

enum { kPatienceSeconds = 20 };

static SSL_SESSION* newest;

static int keep_session(SSL* ssl, SSL_SESSION* session) {
  (void)ssl;
  SSL_SESSION_free(newest);
  newest = session;
  return 1;  // the session now belongs to this program
}

static void shake_hands(SSL_CTX* context, const struct sockaddr_in* target, int must_resume) {
  const struct timeval patience = {.tv_sec = kPatienceSeconds};
  SSL_SESSION* offered = must_resume ? newest : NULL;
  if (must_resume) SSL_SESSION_up_ref(offered);
  struct bare_tls stream = bare_tls_open(context, target, -1, offered);
  SSL_SESSION* before = newest;
  char nothing;
  setsockopt(stream.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  errno = EPROTO;
  if (must_resume && !SSL_session_reused(stream.ssl)) fail("the server did not resume the session");
  // SSL_MODE_AUTO_RETRY is off. Therefore SSL_read() returns when it has read a session ticket, although no data has
  // arrived.
  if (SSL_read(stream.ssl, &nothing, 1) > 0 || newest == before) fail("the server sent no session ticket");
  bare_tls_close(&stream);
  SSL_SESSION_free(offered);
}

int main(int argc, char** argv) {
  double handshakes = 100, resume = 0, server_pid = 0;
  const struct bare_option options[] = {
      {"--handshakes", &handshakes}, {"--resume", &resume}, {"--server-pid", &server_pid}};
  const struct sockaddr_in target = parse_command_line(argc, argv, options, sizeof options / sizeof *options);
  SSL_CTX* context = bare_tls_context();
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, keep_session);
  shake_hands(context, &target, 0);
  const uint64_t start = now_ns(), server_cpu = server_pid > 0 ? cpu_ns((int)server_pid) : 0;
  for (int i = 0; i < (int)handshakes; ++i) shake_hands(context, &target, resume > 0);
  const double seconds = (double)(now_ns() - start) * 1e-9, divisor = handshakes > 0 ? handshakes : 1;
  printf("{\"handshakes\": %.0f, \"resumed\": %s, ", handshakes, resume > 0 ? "true" : "false");
  if (server_pid > 0) {
    printf("\"server_cpu_ns_per_handshake\": %.1f, ", (double)(cpu_ns((int)server_pid) - server_cpu) / divisor);
  }
  printf("\"handshakes_per_s\": %.1f}\n", divisor / seconds);
  return 0;
}
