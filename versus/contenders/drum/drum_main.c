// SPDX-License-Identifier: BSD-3-Clause
// See drum_main.h.
#include "drum_main.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kMostPairs = 10000000, kMostWrites = 1000000000, kMostRounds = 100000, kFdsBeside = 32, kIdleStep = 7919 };

struct round {
  int64_t total_ns;
  int64_t loop_ns;
  uint64_t waits;
  uint64_t events;
  int receives;
};

struct drum drum = {.pairs = 100, .active = 1, .writes = 100, .rounds = 25};

static uint64_t waits, events;
static int receives, writes_left, idle_ends;
static int64_t ended_ns;

// Replaces libc's epoll_wait() in the whole process, so the event library under test calls this function too. Counts
// the calls and the events that they return.
int epoll_wait(int epoll, struct epoll_event* ready, int room, int timeout_ms) {
  const long count = syscall(SYS_epoll_pwait, epoll, ready, room, timeout_ms, NULL, sizeof(uint64_t));
  ++waits;
  if (count > 0) events += (uint64_t)count;
  return (int)count;
}

int drum_idle_ms(int i) { return 10000 + (int)((int64_t)i * kIdleStep % 1001); }

void drum_idle(int i) {
  (void)i;
  ++idle_ends;
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void send_byte(int i) {
  if (write(drum.sending[i], "e", 1) != 1) fail("write");
}

int drum_byte(int i) {
  char byte;
  const ssize_t got = read(drum.receiving[i], &byte, 1);
  if (got < 0 && errno == EAGAIN) return 0;
  if (got != 1) fail("read");
  ++receives;
  if (writes_left > 0) {
    --writes_left;
    send_byte(i + 1 == drum.pairs ? 0 : i + 1);
  }
  if (receives < drum.active + drum.writes) return 0;
  ended_ns = now_ns();
  return 1;
}

static struct round one_round(int again) {
  const int64_t began_ns = now_ns();
  register_all(again);
  receives = 0;
  writes_left = drum.writes;
  const int apart = drum.pairs / drum.active;
  for (int stick = 0; stick < drum.active; ++stick) send_byte(stick * apart);
  waits = events = 0;
  const int64_t loop_ns = now_ns();
  pass_around();
  return (struct round){ended_ns - began_ns, ended_ns - loop_ns, waits, events, receives};
}

static void usage(void) {
  fprintf(stderr,
          "usage: %s [-n PAIRS] [-a ACTIVE] [-w WRITES] [--rounds N] [--timeouts] [--pipes] [--json -]\n"
          "Passes bytes around a ring of socketpairs and prints what each round took, as JSON.\n"
          "example: %s -n 1000 -a 100 -w 1000 --timeouts\n",
          program_invocation_short_name, program_invocation_short_name);
  exit(2);
}

static int number(const char* text, int least, int most) {
  char* end = NULL;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < least || value > most) usage();
  return (int)value;
}

static void read_options(int argc, char** argv) {
  static const struct option kLong[] = {
      {"pairs", required_argument, NULL, 'n'},      {"active", required_argument, NULL, 'a'},
      {"writes", required_argument, NULL, 'w'},     {"rounds", required_argument, NULL, 'r'},
      {"timeouts", no_argument, &drum.timeouts, 1}, {"pipes", no_argument, &drum.pipes, 1},
      {"json", required_argument, NULL, 'j'},       {NULL, 0, NULL, 0}};
  int option;
  opterr = 0;
  while ((option = getopt_long(argc, argv, "n:a:w:", kLong, NULL)) != -1) {
    switch (option) {
      case 0: break;
      case 'n': drum.pairs = number(optarg, 1, kMostPairs); break;
      case 'a': drum.active = number(optarg, 1, kMostPairs); break;
      case 'w': drum.writes = number(optarg, 0, kMostWrites); break;
      case 'r': drum.rounds = number(optarg, 2, kMostRounds); break;
      case 'j':
        if (strcmp(optarg, "-") != 0) usage();
        break;
      default: usage();
    }
  }
  if (optind != argc || drum.active > drum.pairs) usage();
}

static void open_pairs(void) {
  const long limit = (long)raise_fd_limit(), most = (limit - kFdsBeside) / 2;
  if (drum.pairs > most) {
    fprintf(stderr, "%s: this process may open %ld fds: at most %ld pairs, not %d\n", program_invocation_short_name,
            limit, most, drum.pairs);
    exit(1);
  }
  drum.receiving = allocate((size_t)drum.pairs, sizeof *drum.receiving);
  drum.sending = allocate((size_t)drum.pairs, sizeof *drum.sending);
  for (int i = 0; i < drum.pairs; ++i) {
    int fds[2];
    if (drum.pipes ? pipe2(fds, O_NONBLOCK | O_CLOEXEC)
                   : socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds)) {
      fail("cannot open a pair of fds");
    }
    drum.receiving[i] = fds[0];
    drum.sending[i] = fds[1];
  }
}

static void print_json(const struct round* rounds) {
  printf("{\"schema\":1,\"tool\":\"drum\",\"library\":\"%s\",\"engine\":\"epoll\",", library_name());
  printf("\"pairs\":%d,\"active\":%d,\"writes\":%d,\"timeouts\":%s,\"idle\":\"%s\",\"transport\":\"%s\",\"rounds\":[",
         drum.pairs, drum.active, drum.writes, drum.timeouts ? "true" : "false", drum.timeouts ? idle_manner() : "none",
         drum.pipes ? "pipe" : "socketpair");
  for (int i = 0; i < drum.rounds; ++i) {
    printf("%s{\"total_ns\":%lld,\"loop_ns\":%lld,\"waits\":%llu,\"events\":%llu,\"receives\":%d}", i > 0 ? "," : "",
           (long long)rounds[i].total_ns, (long long)rounds[i].loop_ns, (unsigned long long)rounds[i].waits,
           (unsigned long long)rounds[i].events, rounds[i].receives);
  }
  printf("]}\n");
  if (idle_ends > 0) fprintf(stderr, "%d watchers heard nothing for longer than their idle timeout\n", idle_ends);
}

int main(int argc, char** argv) {
  read_options(argc, argv);
  signal(SIGPIPE, SIG_IGN);
  open_pairs();
  struct round* rounds = allocate((size_t)drum.rounds, sizeof *rounds);
  for (int i = 0; i < drum.rounds; ++i) rounds[i] = one_round(i > 0);
  print_json(rounds);
  free(rounds);
  return 0;
}
