# SPDX-License-Identifier: BSD-3-Clause
# Describes how each rival is built; scripts/rivals sources this file. For a rival NAME there are:
#   files_NAME   files that its checkout must have, so that a wrong folder is reported before anything is compiled
#   needs_NAME   other rivals whose checkouts its build needs; optional
#   build_NAME   compiles and links from $checkouts/NAME, changes nothing there; objects go to $work, programs to $bin
#   words_NAME   prints the contenders that it adds, one NAME=COMMAND per line
# $optimise holds -O2 -DNDEBUG and the flags of --flags. The other flags are those of the authors' own builds, without
# their warnings. docs/contenders.md explains each flag, and why some files are not compiled.
# shellcheck shell=bash disable=SC2034,SC2154

# compile FOLDER COMPILER WORDS... -- SOURCES...: compiles each source to an object in $work/FOLDER, $jobs at a time.
compile() {
  local objects="$work/$1" words=()
  shift
  while [ "$1" != -- ]; do words+=("$1"); shift; done
  shift
  rm -rf "$objects" && mkdir -p "$objects" || return 1
  # shellcheck disable=SC2016
  printf '%s\0' "$@" | objects="$objects" xargs -0 -n 1 -P "$jobs" bash -c '
    source="${!#}"
    exec "${@:1:$#-1}" -c "$source" -o "$objects/$(tr / _ <<<"${source#/}").o"' compile "${words[@]}"
}

# Compiles the sources that all of our drivers are linked with.
compile_common() {
  local sources=("$contenders"/common/contender{,_http,_program}.c "$drivers/common/rival.c")
  compile common cc "${optimise[@]}" -D_GNU_SOURCE -pthread "${own_headers[@]}" -- "${sources[@]}"
}

# muduo: uses the flags of its CMakeLists.txt. The ping-pong server is muduo's own, unchanged from examples/.
files_muduo=(muduo/net/TcpServer.h muduo/net/http/HttpServer.h muduo/net/Channel.h examples/pingpong/server.cc)
build_muduo() {
  local source="$checkouts/muduo" library=() at
  local cxx=(g++ "${optimise[@]}" -std=c++11 -march=native -rdynamic -pthread -DCHECK_PTHREAD_RETURN_VALUE
    -D_FILE_OFFSET_BITS=64 "-I$source")
  for at in "$source"/muduo/{base,net,net/poller,net/http}/*.cc; do
    [ "$(basename "$at")" = boilerplate.cc ] || library+=("$at")
  done
  local driver=(g++ "${optimise[@]}" -std=c++17 -march=native -rdynamic -pthread "-I$source" "${own_headers[@]}")
  compile muduo "${cxx[@]}" -- "${library[@]}" &&
    compile_common &&
    compile drum cc "${optimise[@]}" -D_GNU_SOURCE "${own_headers[@]}" -- \
      "$contenders/drum/drum_main.c" "$contenders/common/contender_program.c" &&
    "${cxx[@]}" "$source/examples/pingpong/server.cc" "$work"/muduo/*.o -o "$bin/muduo_pingpong" &&
    "${driver[@]}" "$drivers/muduo/muduo_http.cc" "$work"/muduo/*.o "$work"/common/*.o -o "$bin/muduo_http" &&
    "${driver[@]}" "$drivers/muduo/muduo_drum.cc" "$work"/muduo/*.o "$work"/drum/*.o -o "$bin/muduo_drum"
}
words_muduo() {
  echo "muduo=$(word "$bin/muduo_pingpong") {host} {port} {threads}"
  echo "http:muduo=$(word "$bin/muduo_http") --listen {listen} --threads {threads}"
  echo "drum:muduo=$(word "$bin/muduo_drum")"
}

# uSockets: uses the flags of its Makefile without TLS; compiles its C sources with link-time optimisation.
usockets_flags=(-std=c11 -flto=auto -DLIBUS_NO_SSL)
compile_usockets() {
  local source="$checkouts/uSockets/src"
  compile usockets cc "${optimise[@]}" "${usockets_flags[@]}" "-I$source" -- "$source"/*.c "$source"/eventing/*.c
}
files_uSockets=(src/libusockets.h src/loop.c src/eventing/epoll_kqueue.c)
build_uSockets() {
  compile_usockets &&
    compile_common &&
    cc "${optimise[@]}" "${usockets_flags[@]}" -D_GNU_SOURCE -pthread "-I$checkouts/uSockets/src" "${own_headers[@]}" \
      "$drivers/usockets/usockets_echo.c" "$work"/usockets/*.o "$work"/common/*.o -o "$bin/usockets_echo"
}
words_uSockets() {
  echo "uSockets=$(word "$bin/usockets_echo") --listen {listen} --threads {threads}"
}

# uWebSockets: uses the flags of its build.c, without zlib, which only its WebSockets need.
files_uWebSockets=(src/App.h src/HttpResponse.h)
needs_uWebSockets=(uSockets)
build_uWebSockets() {
  compile_usockets &&
    compile_common &&
    g++ "${optimise[@]}" -std=c++2b -march=native -flto=auto -pthread -DLIBUS_NO_SSL -DUWS_NO_ZLIB \
      -DUWS_HTTPRESPONSE_NO_WRITEMARK "-I$checkouts/uWebSockets/src" "-I$checkouts/uSockets/src" "${own_headers[@]}" \
      "$drivers/uwebsockets/uwebsockets_http.cc" "$work"/usockets/*.o "$work"/common/*.o -o "$bin/uwebsockets_http"
}
words_uWebSockets() {
  echo "http:uWebSockets=$(word "$bin/uwebsockets_http") --listen {listen} --threads {threads}"
}

# cppcms: uses its own CMake, outside its source tree. The only library is PCRE, which its URL mapper needs.
files_cppcms=(CMakeLists.txt cppcms/service.h booster/CMakeLists.txt)
build_cppcms() {
  local source="$checkouts/cppcms" build="$work/build"
  local off=(-DDISABLE_{SHARED,ICU_LOCALE,GCRYPT,OPENSSL,FCGI,SCGI,TCPCACHE,PREFORK_CACHE,GZIP}=ON)
  cmake -S "$source" -B "$build" -Wno-dev -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=${optimise[*]}" \
    "-DCMAKE_C_FLAGS_RELEASE=${optimise[*]}" "${off[@]}" &&
    cmake --build "$build" -j "$jobs" --target cppcms-static &&
    compile_common &&
    g++ "${optimise[@]}" -std=c++17 -pthread "-I$source" "-I$source/booster" "-I$build" "-I$build/booster" \
      "${own_headers[@]}" "$drivers/cppcms/cppcms_http.cc" "$work"/common/*.o "$build/libcppcms.a" \
      "$build/booster/libbooster.a" -lpcre -ldl -o "$bin/cppcms_http"
}
words_cppcms() {
  echo "http:cppcms=$(word "$bin/cppcms_http") --listen {listen} --threads {threads}"
}

# libio: uses the flags of its http/Makefile.
files_libio=(http/http_multithread_server.hh http/http_multithread_server.cc core/epoll.hh model/reactor.hh)
build_libio() {
  local source="$checkouts/libio"
  local cxx=(g++ "${optimise[@]}" -pthread "-I$source")
  compile libio "${cxx[@]}" -std=c++14 -- "$source"/http/*.cc &&
    compile_common &&
    "${cxx[@]}" -std=c++17 "${own_headers[@]}" "$drivers/libio/libio_http.cc" "$work"/libio/*.o "$work"/common/*.o \
      -o "$bin/libio_http"
}
words_libio() {
  echo "http:libio=$(word "$bin/libio_http") --listen {listen} --threads {threads}"
}

# MyEchoServer: builds two of its models from its own programs. NDEBUG must stay undefined, because the programs do
# their work inside assert().
files_MyEchoServer=(common/cmdline.cpp ConcurrencyModel/EpollReactorSingleProcess/epollreactorsingleprocess.cpp
  ConcurrencyModel/EpollReactorThreadPool/epollreactorthreadpool.cpp)
build_MyEchoServer() {
  local source="$checkouts/MyEchoServer"
  local models="$source/ConcurrencyModel" common="$source/common/cmdline.cpp"
  local cxx=(g++ "${optimise[@]}" -UNDEBUG -std=c++11 -pthread)
  "${cxx[@]}" "$models/EpollReactorSingleProcess/epollreactorsingleprocess.cpp" "$common" -o "$bin/myecho_reactor" &&
    "${cxx[@]}" "$models/EpollReactorThreadPool/epollreactorthreadpool.cpp" "$common" -o "$bin/myecho_thread_pool"
}
words_MyEchoServer() {
  echo "model:MyEchoServer-reactor=$(word "$bin/myecho_reactor") -ip {host} -port {port} -multiio -la -writefirst"
  echo "model:MyEchoServer-thread-pool=$(word "$bin/myecho_thread_pool") -ip {host} -port {port} -poolsize {threads}"
}
