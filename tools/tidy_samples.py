# SPDX-License-Identifier: BSD-3-Clause
"""What tidy must accept and what it must refuse: a small good tree, and for each rule bad files to lay over it.

Words that tidy forbids everywhere are put together here, so that this file itself stays clean.
"""
SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"
HASH_SPDX = "# SPDX-License-Identifier: BSD-3-Clause\n"
HEADER = SPDX + "#pragma once\n"

TWIN = SPDX + "namespace peal {\nnamespace {\n\nint width(const Row& row, int most = 3) {\n  return 1;\n}\n\n}\n}\n"
_ECHO = SPDX + '#include <peal/net/server.h>\n\nint main() {\n  return 0;\n}\n'

GOOD = {
    "LICENSE": "BSD 3-Clause License\n",
    "Makefile": HASH_SPDX + "all:\n\ttrue\n",
    "deploy/debian/rules": HASH_SPDX + "all:\n\ttrue\n",
    "cmake/tests.cmake": HASH_SPDX + "foreach(floor base net)\n  peal_test_folder(${floor}_tests peal/${floor})\n"
                         "endforeach()\nfile(GLOB tests ${PROJECT_SOURCE_DIR}/tools/*_test.py)\n",
    "peal/base/clock.h": HEADER + "namespace peal {\nint now();\n}  // namespace peal\n",
    "peal/base/clock.cc": SPDX + "#include <peal/base/clock.h>\n\nint peal::now() { return 1; }\n",
    "peal/base/clock_test.cc": SPDX + "#include <gtest/gtest.h>\n#include <peal/base/clock.h>\n",
    "peal/net/server.h": HEADER + "#include <peal/base/clock.h>\n#define PEAL_SERVE 1\nint serve();\n",
    "peal/net/server.cc": SPDX + "#include <peal/net/server.h>\n#include <peal/net/parts/session.h>\n",
    "peal/net/parts/session.h": HEADER + "struct Session {};\n",
    "peal/net/soon.cc": SPDX + "// now() + wait\nauto due = later(now(), wait), soon = now() + kSoon, at = now + 1s;\n",
    "starters/rpc/run_test.cc": SPDX + '#include "run.pb.h"\n',
    "starters/rpc/run.proto": 'syntax = "proto3";\n',
    "starters/tcp/run_test.cc": SPDX + "int two;\n",
    "peal/net/twin.cc": SPDX + "namespace peal {\nnamespace {\nint width(Row& row) {\n  return 1;\n}\n}\n}\n",
    "peal/net/alone.cc": SPDX + "namespace peal {\nint width(Row& row) {\n  return 1;\n}\n}\n"
                         "namespace peal::detail {\nnamespace {\nint width(Row& row) {\n  return 1;\n}\n}\n}\n",
    "peal/base/plain.h": HEADER + "// Reads " + "a " * 28 + "word. Then:\n//     " + "drawn " * 15
                         + "end\n//     " + "drawn " * 15 + "end\n"
                         "//  - one item of a list\n//  - " + "a " * 29 + "word\n"
                         "int pick = a ? b() : c();  // Offers one.\nauto f(int a, int b = 2) { return g(a, b); }\n"
                         "enum class E { kA = f(1), kB = 2, };\nunsigned x : 1 = 0, y : 1 = 0;\n",
    "peal/net/server_test.cc": SPDX + '#include <peal/net/parts/session.h>\nauto a = listen("127.0.0.1:0");\n'
                               'auto parsed = parse("127.0.0.1:9981");\n',
    "peal/protobuf/note.proto": 'syntax = "proto3";\n',
    "peal/protobuf/note.cc": SPDX + "#include <peal/protobuf/note.pb.h>\n",
    "examples/echo.cc": _ECHO,
    "tools/note.py": HASH_SPDX + "def note():\n    return 1\n",
    "tools/note_test.py": HASH_SPDX + "import note\n",
    "scripts/go": "#!/bin/sh\n" + HASH_SPDX + "true\n",
    "docs/a.md": "# A page\n\n[Here](#a-page), [there](../README.md): `peal/net/server.{h,cc}`, `peal/**/*.h`.\n",
    "README.md": "# peal\n\n<!-- quote: examples/echo.cc -->\n```cpp\n" + _ECHO[len(SPDX):] + "```\n",
}


def _function(lines):
    return "int long_one() {\n" + "  work();\n" * (lines - 2) + "}\n"


# (rule, {path: content}): each laid over GOOD must yield findings of exactly that rule.
BAD = [
    ("floors", {"peal/base/up.h": HEADER + "#include <peal/net/server.h>\n"
                                  "#include <peal/base/clock.h>\nint up();\n"}),
    ("floors", {"peal/wire/aside.cc": SPDX + "#include <peal/engine/engine.h>\n",
                "peal/engine/engine.h": HEADER + "int engine();\n"}),
    ("floors", {"peal/net/eager.cc": SPDX + "#include <peal/coro/task.h>\n",
                "peal/coro/task.h": HEADER + "int a();\n"}),
    ("floors", {"peal/coro/eager.cc": SPDX + "#include <peal/sync/async_queue.h>\n",
                "peal/sync/async_queue.h": HEADER + "int a();\n"}),
    ("floors", {"peal/http/meet.cc": SPDX + "#include <peal/tls/tls.h>\n", "peal/tls/tls.h": HEADER + "int a();\n"}),
    ("floors", {"cli/own.cc": SPDX + "#include <cli/rpc/asks.h>\n", "cli/rpc/asks.h": HEADER + "int a();\n"}),
    ("floors", {"cli/own.cc": SPDX + "#include <peal/protobuf/codec.h>\n",
                "peal/protobuf/codec.h": HEADER + "int a();\n"}),
    ("floors", {"load/judge.cc": SPDX + "#include <peal/net/server.h>\n"}),
    ("floors", {"attic/old.cc": SPDX}),
    ("floors", {"peal/net/toy.cc": SPDX + "#include <peal/sim/sim_world.h>\n",
                "peal/sim/sim_world.h": HEADER + "int a();\n"}),
    ("rooms", {"peal/http/server/serve.h": HEADER + "#include <peal/http/router.h>\nint a();\n",
               "peal/http/router.h": HEADER + "int b();\n",
               "peal/http/router.cc": SPDX + "#include <peal/http/server/serve.h>\n"}),
    ("rooms", {"peal/wire/http/head.h": HEADER + "#include <peal/wire/content/date.h>\nint a();\n",
               "peal/wire/content/date.h": HEADER + "#include <peal/wire/http/head.h>\nint b();\n"}),
    ("privacy", {"peal/http/server/run.cc": SPDX + "#include <peal/http/client/parts/pool.h>\n",
                 "peal/http/client/parts/pool.h": HEADER + "int a();\n"}),
    ("budget", {f"peal/loop/full{n}.cc": SPDX + "int a;\n" * 390 for n in range(12)}),
    ("entries", {f"docs/page{n}.md": "# page\n" for n in range(46)}),
    ("privacy", {"cli/peek.cc": SPDX + "#include <peal/net/parts/session.h>\n"}),
    ("privacy", {"peal/net/leak.h": HEADER + "#include <peal/net/parts/session.h>\nint leak();\n"}),
    ("privacy", {"tests/peek.h": HEADER + "#include <peal/net/parts/session.h>\n"}),
    ("third-party", {"peal/net/fast.cc": SPDX + "#include <liburing.h>\n"}),
    ("third-party", {"peal/engine/readiness/other.cc": SPDX + "#include <liburing.h>\n"}),
    ("third-party", {"load/own.cc": SPDX + "#include <sys/epoll.h>\n"}),
    ("third-party", {"peal/net/secret.cc": SPDX + "#include <openssl/ssl.h>\n"}),
    ("third-party", {"peal/http/stub.cc": SPDX + "#include <google/protobuf/message.h>\n"}),
    ("third-party", {"cli/chatty.cc": SPDX + "#include <spdlog/spdlog.h>\n"}),
    ("third-party", {"peal/base/tested.cc": SPDX + "#include <gtest/gtest.h>\n"}),
    ("size", {"peal/base/long.cc": SPDX + "int a;\n" * 400}),
    ("size", {"tools/long.py": HASH_SPDX + "pass\n" * 400}),
    ("size", {"scripts/long": "#!/bin/sh\n" + HASH_SPDX + "true\n" * 400}),
    ("size", {"peal/base/wide.cc": SPDX + _function(71)}),
    ("size", {"peal/base/inside.cc": SPDX + "namespace a {\nstruct B {\n private:\n" + _function(71) + "};\n}\n"}),
    ("size", {"tools/wide.py": HASH_SPDX + "def wide():\n" + "    pass\n" * 70}),
    ("size", {"scripts/wide": "#!/bin/sh\n" + HASH_SPDX + "wide() {\n" + "  true\n" * 69 + "}\n"}),
    ("spdx", {"peal/base/bare.cc": "int a;\n"}),
    ("spdx", {"tools/bare.py": ""}),
    ("spdx", {"scripts/bare": "#!/bin/sh\ntrue\n" + HASH_SPDX}),
    ("name", {"peal/base/TimerWheel.cc": SPDX}),
    ("name", {"peal/net/clock.h": HEADER + "int clock();\n"}),
    ("name", {"peal/base/clock_part2.cc": SPDX}),
    ("name", {"starters/tcp/RunIt.cc": SPDX}),
    ("tab", {"peal/base/tabbed.cc": SPDX + "\tint a;\n"}),
    ("trailing-space", {"tools/spaced.py": HASH_SPDX + "pass \n"}),
    ("columns", {"peal/base/wide.cc": SPDX + "// " + "x" * 118 + "\n"}),
    ("last-line", {"tools/open.py": HASH_SPDX + "pass"}),
    ("leftover", {"peal/base/later.cc": SPDX + "// TO" + "DO: later\n"}),
    ("leftover", {"docs/later.md": "FIX" + "ME\n"}),
    ("pragma-once", {"peal/base/twice.h": SPDX + "int a();\n"}),
    ("macro", {"peal/base/loud.h": HEADER + "#define LOUD 1\n"}),
    ("time-sum", {"peal/net/soon.cc": SPDX + "auto due = loop.now() + options.timeout;\n"}),
    ("time-sum", {"peal/net/soon.cc": SPDX + "auto due = idle_since_ + most;\n"}),
    ("time-sum", {"peal/net/soon.cc": SPDX + "auto all = drain_time + options().grace;\n"}),
    ("time-sum", {"peal/net/soon.cc": SPDX + "auto due = last_message_ + idle;\n"}),
    ("umbrella", {"peal/base/lazy.cc": SPDX + "#include <bits/stdc++.h>\n"}),
    ("umbrella", {"peal/net/all.h": HEADER + "#include <peal/base/clock.h>\n#include <peal/net/server.h>\n"}),
    ("include", {"peal/base/quoted.cc": SPDX + '#include "peal/base/clock.h"\n'}),
    ("include", {"peal/base/climbing.cc": SPDX + '#include "../../peal/base/clock.h"\n'}),
    ("include", {"peal/base/gone.cc": SPDX + "#include <peal/base/nowhere.h>\n"}),
    ("include", {"peal/protobuf/gone.cc": SPDX + "#include <peal/protobuf/nowhere.pb.h>\n"}),
    ("include", {"cli/gone.cc": SPDX + '#include "nowhere.h"\n'}),
    ("twin", {"peal/base/first.cc": TWIN, "peal/net/second.cc": TWIN.replace("const Row& row", "const Row& other")}),
    ("twin", {"peal/net/first_test.cc": TWIN, "peal/net/second_test.cc": TWIN}),
    ("long-sentence", {"peal/base/long.h": HEADER + "// " + "a " * 20 + "word\n// " + "a " * 10 + "word.\nint a();\n"}),
    ("riddle", {"peal/base/riddle.h": HEADER + "int a();  // Of the other, until it ends.\n"}),
    ("golf", {"peal/base/golf.cc": SPDX + "void f() { return void(g()); }\n"}),
    ("golf", {"peal/base/golf.cc": SPDX + "bool f() { return g(), true; }\n"}),
    ("golf", {"peal/base/golf.cc": SPDX + "void f() {\n  a = b, c = d;\n}\n"}),
    ("golf", {"peal/base/golf.cc": SPDX + "void f() {\n  a == b ? g() : h();\n}\n"}),
    ("golf", {"peal/base/golf.cc": SPDX + "std::shared_ptr<void> next(nullptr, [](void*) { g(); });\n"}),
    ("golf", {"peal/base/golf.cc": SPDX + "std::shared_ptr<void> f() { return {nullptr, [](void*) { g(); }}; }\n"}),
    ("golf", {"peal/base/golf.cc": SPDX + "size_t f() { return held.use_count() - 1; }\n"}),
    ("golf", {"peal/base/golf.h": HEADER + "void operator delete(A* a, std::destroying_delete_t);\n"}),
    ("sleep", {"peal/net/nap_test.cc": SPDX + "void f() { std::this_thread::sleep_for(one_second); }\n"}),
    ("sleep", {"peal/net/nap_test.cc": SPDX + "void f() { ::sleep(1); }\n"}),
    ("sleep", {"peal/net/nap_test.cc": SPDX + "void f() { usleep(1); }\n"}),
    ("fixed-port", {"peal/net/port_test.cc": SPDX + 'auto a = listen(loop, "127.0.0.1:9981");\n'}),
    ("fixed-port", {"peal/net/port_test.cc": SPDX + "void f() { name.sin_port = htons(80); }\n"}),
    ("fixed-port", {"peal/net/port_test.cc": SPDX + 'auto a = run({"--listen", "[::1]:9981"});\n'}),
    ("released", {"tests/consume/released/api_0_1.cc": SPDX}),
    ("released", {"tests/consume/released/api_0_1.cc": SPDX,
                  "tests/consume/released/SHA256SUMS": f"{'0' * 64}  api_0_1.cc\n"}),
    ("unbuilt", {"cli/lost_test.cc": SPDX}),
    ("unbuilt", {"versus/lost_test.py": HASH_SPDX}),
    ("unbuilt", {"tools/test_note.py": HASH_SPDX}),
    ("path", {"docs/a.md": "It is in `peal/net/gone.h`, `peal/net/{server,other}.h` or `peal/net/`.\n"}),
    ("path", {"docs/a.md": "Tests are `peal/gone/*_test.cc`.\n"}),
    ("path", {"peal/net/named.cc": SPDX + "int a;  // see peal/net/gone.h\n"}),
    ("link", {"docs/a.md": "See [b](b.md).\n"}),
    ("link", {"docs/a.md": "# One: two\n\nSee [here](#one-two) and [there](#two).\n"}),
    ("make-target", {"docs/a.md": "Run `make cake`.\n"}),
    ("make-target", {"docs/a.md": "```\n$ make cake JOBS=2\n```\n"}),
    ("doc-size", {"docs/lineage.md": "| `net` | 1,000 | all of it |\n"}),
    ("front-page", {"README.md": GOOD["README.md"] + "\n" * 200}),
    ("front-page", {"README.md": GOOD["README.md"] + "word " * 1400 + "end\n"}),
    ("translation", {"docs/zh/README.md": GOOD["README.md"]}),
    ("quote", {"README.md": GOOD["README.md"].replace("return 0", "return 1")}),
    ("quote", {"README.md": "```cpp\nint drifting;\n```\n"}),
    ("quote", {"README.md": "<!-- quote: examples/gone.cc -->\n```cpp\n```\n"}),
    ("quote", {"README.md": "<!-- quote: examples/echo.cc [gone] -->\n```cpp\n```\n"}),
    ("quote", {"examples/two.cc": SPDX + "// Quoted in docs: [open]\nint a;\n",
               "README.md": "<!-- quote: examples/two.cc [open] -->\n```cpp\nint a;\n```\n"}),
]

# (C++ text, [(first line, last line, name)]): where functions begin and end.
FUNCTIONS = [
    ("int f() {\n  return 1;\n}\n", [(1, 3, "f")]),
    ("// { not a brace\nconst char* s = \"{\"; char c = '{';\nvoid f() {\n}\n", [(3, 4, "f")]),
    ("auto s = R\"x(\nvoid g() {\n)\" )x\";\nvoid f() {}\n", [(4, 4, "f")]),
    ("int million = 1'000'000;\nvoid f() {\n  g('\\'');\n}\n", [(2, 4, "f")]),
    ("namespace a::b {\nclass C : public D {\n public:\n"
     "  C()\n      : x_{1},\n        y_(2) {\n  }\n  int x_{3};\n};\n}\n",
     [(4, 7, "C")]),
    ("extern \"C\" {\nvoid f() {\n}\n}\nextern \"C\" int g(int x) {\n  if (x) {\n  }\n}\n",
     [(2, 3, "f"), (5, 8, "g")]),
    ("template <class T, class U = std::vector<T>>\nT f(T t) {\n  auto g = [&] {\n  };\n  struct L { int h() {} };\n"
     "}\n", [(1, 6, "f")]),
    ("constexpr int table[] = {\n  1,\n  f(2),\n};\nauto more = make({\n  1,\n});\n", []),
    ("static auto run = [](int x) {\n  return x;\n};\n", [(1, 3, "[]")]),
    ("#define PEAL_OPEN {\\\n  {\nstruct alignas(64) [[nodiscard]] S {\n  bool operator=(S s) {\n  }\n};\n",
     [(4, 5, "operator=")]),
    ("TEST(Buffer, moves) {\n}\nenum class E : char {\n  kA\n};\nstruct S* f(int) try {\n}\n",
     [(1, 2, "TEST"), (6, 7, "f")]),
]
