# SPDX-License-Identifier: BSD-3-Clause
"""Checkouts for the test of scripts/rivals: the files that the script compiles, almost empty."""

import subprocess

HEADERS = {
    "muduo/base/Logging.h": """
namespace muduo {
struct Logger {
  enum Level { WARN };
  static void setLogLevel(Level) {}
  static void setOutput(void (*)(const char*, int)) {}
};
}
""",
    "muduo/net/EventLoop.h": """
#include <functional>
namespace muduo {
struct Timestamp {};
namespace net {
struct TimerId {};
struct EventLoop {
  void loop() {}
  void quit() {}
  TimerId runAfter(double, std::function<void()>) { return {}; }
  void cancel(TimerId) {}
};
}
}
""",
    "muduo/net/Channel.h": """
#include "muduo/net/EventLoop.h"
namespace muduo::net {
struct Channel {
  Channel(EventLoop*, int) {}
  void setReadCallback(std::function<void(Timestamp)>) {}
  void enableReading() {}
  void disableAll() {}
  void remove() {}
};
}
""",
    "muduo/net/InetAddress.h": """
#include <cstdint>
#include <string>
namespace muduo::net { struct InetAddress { InetAddress(std::string, uint16_t) {} }; }
""",
    "muduo/net/TcpServer.h": "",
    "muduo/net/http/HttpRequest.h": """
#include <string>
namespace muduo::net {
struct HttpRequest {
  enum Method { kGet, kHead };
  Method method() const { return kGet; }
  std::string path() const { return "/"; }
};
}
""",
    "muduo/net/http/HttpResponse.h": """
#include <string>
namespace muduo::net {
struct HttpResponse {
  enum HttpStatusCode { k200Ok = 200 };
  void setStatusCode(HttpStatusCode) {}
  void setStatusMessage(std::string) {}
  void setCloseConnection(bool) {}
  bool closeConnection() const { return false; }
  void setContentType(std::string) {}
  void addHeader(std::string, std::string) {}
  void setBody(std::string) {}
};
}
""",
    "muduo/net/http/HttpServer.h": """
#include "muduo/net/EventLoop.h"
#include "muduo/net/InetAddress.h"
#include "muduo/net/http/HttpRequest.h"
#include "muduo/net/http/HttpResponse.h"
namespace muduo::net {
struct HttpServer {
  HttpServer(EventLoop*, InetAddress, std::string) {}
  void setHttpCallback(std::function<void(const HttpRequest&, HttpResponse*)>) {}
  void setThreadNum(int) {}
  void start();
};
}
""",
}
MUDUO = {
    **{path: "#pragma once\n" + text for path, text in HEADERS.items()},
    "muduo/base/Logging.cc": "int fake_muduo_base() { return 4; }\n",
    "muduo/net/boilerplate.cc": "#error boilerplate.cc is no part of the library\n",
    "muduo/net/poller/EPollPoller.cc": "int fake_muduo_poller() { return 2; }\n",
    "muduo/net/http/HttpServer.cc": '#include "muduo/net/http/HttpServer.h"\nvoid muduo::net::HttpServer::start() {}\n',
    "examples/pingpong/server.cc": """
#include <cstdio>
int fake_muduo_base();
int fake_muduo_poller();
int main(int, char** argv) { std::printf("fake %s %d%d\\n", argv[1], fake_muduo_base(), fake_muduo_poller()); }
""",
}
MODEL = "#include <cstdio>\nint words();\nint main() { std::printf(\"fake model %d\\n\", words()); }\n"
MYECHO = {
    "common/cmdline.cpp": "#ifdef NDEBUG\n#error it does its work inside assert()\n#endif\n"
                          "#ifndef WORDS\n#define WORDS 7\n#endif\nint words() { return WORDS; }\n",
    "ConcurrencyModel/EpollReactorSingleProcess/epollreactorsingleprocess.cpp": MODEL,
    "ConcurrencyModel/EpollReactorThreadPool/epollreactorthreadpool.cpp": MODEL,
}


def lay_out(folder, files):
    """Writes `files`, a dictionary from path to text, into `folder`. Returns the folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def git(folder, *words):
    """Runs git in `folder` and returns what it prints."""
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, "-C", str(folder), *words], text=True, capture_output=True, timeout=60,
                          check=True)
    return done.stdout.strip()


def bare_repository(folder, files):
    """Makes a bare repository of two commits, the first with `files`. Returns its URL and the two commits."""
    work = lay_out(folder / "work", files)
    git(work, "init", "-q")
    commits = []
    for text in ("first", "second"):
        (work / "README").write_text(text, encoding="utf-8")
        git(work, "add", ".")
        git(work, "commit", "-q", "-m", text)
        commits.append(git(work, "rev-parse", "HEAD"))
    git(folder, "clone", "-q", "--bare", str(work), "upstream.git")
    return f"file://{folder}/upstream.git", commits
