# SPDX-License-Identifier: BSD-3-Clause
# The libraries: peal, every source under peal/ but the tests and the benchmarks; peal_tls, the layer over OpenSSL, and
# peal_protobuf (protobuf.cmake), for who wants them; and peal_sim, the simulator, for the tests of who uses peal.

# Static programs: CMake looks for archives only. Debian has no archives of fmt and spdlog, so their code is compiled in
# from the headers. A static-pie program with an RPATH crashes before main(): the start code of glibc 2.36 asserts that
# there is none.
set(peal_fmt fmt::fmt)
set(peal_spdlog spdlog::spdlog)
if(PEAL_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(CMAKE_SKIP_RPATH ON)
  set(Boost_USE_STATIC_LIBS ON)
  add_link_options(-static-pie)
  set(peal_fmt fmt::fmt-header-only)
  set(peal_spdlog spdlog::spdlog_header_only)
endif()
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
if(PEAL_STATIC)
  set_target_properties(spdlog::spdlog_header_only PROPERTIES
    INTERFACE_LINK_LIBRARIES "Threads::Threads;fmt::fmt-header-only")
endif()
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
pkg_check_modules(LIBURING REQUIRED IMPORTED_TARGET liburing)
pkg_check_modules(CARES REQUIRED IMPORTED_TARGET libcares)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)

# libbacktrace is part of gcc and lives in gcc's own folder. clang looks for libraries there but may not see gcc's other
# headers, so the two that matter are copied, for the one source that includes them.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libbacktrace.a
  OUTPUT_VARIABLE libbacktrace OUTPUT_STRIP_TRAILING_WHITESPACE)
cmake_path(GET libbacktrace PARENT_PATH gcc_folder)
foreach(header backtrace.h backtrace-supported.h)
  if(NOT EXISTS ${gcc_folder}/include/${header})
    message(FATAL_ERROR "peal needs libbacktrace, which ${CMAKE_CXX_COMPILER} does not find (Debian: it is in g++)")
  endif()
  configure_file(${gcc_folder}/include/${header} ${PROJECT_BINARY_DIR}/third/${header} COPYONLY)
endforeach()
set_source_files_properties(${PROJECT_SOURCE_DIR}/peal/base/stack_trace.cc PROPERTIES
  INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/third)

file(GLOB_RECURSE peal_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/peal/*.cc)
file(GLOB_RECURSE sim_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/peal/sim/*.cc)
file(GLOB_RECURSE tls_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/peal/tls/*.cc)
file(GLOB_RECURSE protobuf_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/peal/protobuf/*.cc)
foreach(list peal_sources sim_sources tls_sources protobuf_sources)
  list(FILTER ${list} EXCLUDE REGEX "_(test|bench)\\.cc$")
endforeach()
list(REMOVE_ITEM peal_sources ${sim_sources} ${tls_sources} ${protobuf_sources})

# What a request passes through on its way, and what a coroutine does.
set(hot_sources coro/await coro/scope coro/stream
  http/server/http_exchange http/server/parts/http1_carrier http/server/parts/http1_session
  http/server/parts/http_carrier http/server/parts/http_core
  wire/http/http_request_head wire/http/http_request_parser wire/http/http_response_writer
  wire/http/parts/http_head_reader wire/parts/byte_scan)
list(TRANSFORM hot_sources PREPEND ${PROJECT_SOURCE_DIR}/peal/)
list(TRANSFORM hot_sources APPEND .cc)
peal_hot(${hot_sources})

# What peal/inspect shows: the files of its page, which are compiled in, and how the library was built.
file(GLOB page_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/peal/inspect/page/*)
set(peal_page_files "")
foreach(path ${page_files})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  cmake_path(GET path FILENAME name)
  file(READ ${path} text)
  string(APPEND peal_page_files "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}" peal_built_flags)
# A package must not show the folder in which it was built.
string(REGEX REPLACE " ?-f(file|debug|macro)-prefix-map=[^ ]*" "" peal_built_flags "${peal_built_flags}")
configure_file(${PROJECT_SOURCE_DIR}/peal/inspect/parts/built_in.cc.in ${PROJECT_BINARY_DIR}/inspect/built_in.cc @ONLY)
list(APPEND peal_sources ${PROJECT_BINARY_DIR}/inspect/built_in.cc)

set(PEAL_NEEDS PUBLIC Threads::Threads ${peal_fmt}
  PRIVATE $<BUILD_INTERFACE:peal_flags> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> ${peal_spdlog}
  PkgConfig::LIBURING PkgConfig::CARES PkgConfig::ZSTD ZLIB::ZLIB
  backtrace)

# peal_core(NAME [TYPE]) makes a library of peal's sources: static or shared, or else as BUILD_SHARED_LIBS says.
function(peal_core name)
  add_library(${name} ${ARGN} ${peal_sources})
  target_compile_features(${name} PUBLIC cxx_std_23)
  peal_together(${name})
  # JSON must not turn into other types unasked: fmt 9 then formats it as text, and fmt 10 refuses to compile. With
  # CARES_NO_DEPRECATED, c-ares from 1.28 on does not warn of functions whose successors c-ares 1.18 does not have.
  target_compile_definitions(${name} PRIVATE JSON_USE_IMPLICIT_CONVERSIONS=0 CARES_NO_DEPRECATED)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
  target_link_libraries(${name} ${PEAL_NEEDS})
endfunction()
peal_core(peal)
add_library(peal::peal ALIAS peal)

# The shared library of the packages, beside the static ones. It exports what public headers declare and nothing else.
# The compiler may inline exported functions into other functions of the library.
if(PEAL_SHARED)
  if(BUILD_SHARED_LIBS)
    message(FATAL_ERROR "PEAL_SHARED builds libpeal.so beside a static libpeal.a: it needs BUILD_SHARED_LIBS=OFF")
  endif()
  peal_core(peal_shared SHARED)
  set_target_properties(peal_shared PROPERTIES OUTPUT_NAME peal EXPORT_NAME peal
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/libpeal.map)
  target_compile_options(peal_shared PRIVATE -fno-semantic-interposition)
  target_link_options(peal_shared PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/libpeal.map)
endif()

add_library(peal_sim ${sim_sources})
add_library(peal::sim ALIAS peal_sim)
set_target_properties(peal_sim PROPERTIES EXPORT_NAME sim)
peal_together(peal_sim)
target_link_libraries(peal_sim PUBLIC peal PRIVATE $<BUILD_INTERFACE:peal_flags>)

add_library(peal_tls ${tls_sources})
add_library(peal::tls ALIAS peal_tls)
set_target_properties(peal_tls PROPERTIES EXPORT_NAME tls)
peal_together(peal_tls)
target_link_libraries(peal_tls PUBLIC peal PRIVATE $<BUILD_INTERFACE:peal_flags> OpenSSL::SSL)

if(PEAL_PROTOBUF)
  include(cmake/protobuf.cmake)
endif()

# A program with every object of the libraries: it does not link if a symbol is defined in none of them.
if(PEAL_LINK_WHOLE)
  file(WRITE ${PROJECT_BINARY_DIR}/whole.cc "int main() {}\n")
  add_executable(peal_whole ${PROJECT_BINARY_DIR}/whole.cc)
  target_link_options(peal_whole PRIVATE LINKER:--whole-archive
    $<TARGET_FILE:peal> $<TARGET_FILE:peal_sim> $<TARGET_FILE:peal_tls>
    $<$<BOOL:${PEAL_PROTOBUF}>:$<TARGET_FILE:$<TARGET_NAME_IF_EXISTS:peal_protobuf>>> LINKER:--no-whole-archive)
  target_link_libraries(peal_whole PRIVATE peal_sim peal_tls $<TARGET_NAME_IF_EXISTS:peal_protobuf>)
endif()

# Compiles each public header by itself, unless its own source includes it first and so shows what is missing.
if(PEAL_LINK_WHOLE)
  file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/peal/*.h)
  list(FILTER headers EXCLUDE REGEX "/parts/")
  if(NOT PEAL_PROTOBUF)
    list(FILTER headers EXCLUDE REGEX "^peal/protobuf/")
  endif()
  foreach(header ${headers})
    string(REGEX REPLACE "\\.h$" ".cc" source ${header})
    set(first "")
    if(EXISTS ${PROJECT_SOURCE_DIR}/${source})
      file(STRINGS ${PROJECT_SOURCE_DIR}/${source} first REGEX "^#include" LIMIT_COUNT 1)
    endif()
    if(NOT first STREQUAL "#include <${header}>")
      file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/headers/${source} CONTENT "#include <${header}>\n")
      list(APPEND header_sources ${PROJECT_BINARY_DIR}/headers/${source})
    endif()
  endforeach()
  add_library(peal_headers OBJECT ${header_sources})
  target_link_libraries(peal_headers PRIVATE peal_sim peal_tls $<TARGET_NAME_IF_EXISTS:peal_protobuf> peal_flags)
endif()

# docs/http.md says what is found by it, and what is found in every build.
set_source_files_properties(${PROJECT_SOURCE_DIR}/peal/http/server/parts/http_shard.cc PROPERTIES
  COMPILE_DEFINITIONS PEAL_RESTING_EXCHANGES=$<IF:$<BOOL:${PEAL_CATCH_KEPT}>,16,0> SKIP_PRECOMPILE_HEADERS ON)

# liburing maps and unmaps a ring by bare system calls, which the thread sanitizer does not see: a ring that one thread
# has given back and another one gets at the same address looks shared. The kernel itself refuses a ring that two
# threads use (IORING_SETUP_SINGLE_ISSUER: EEXIST).
if("${PEAL_SANITIZE}" STREQUAL "thread")
  set_source_files_properties(${PROJECT_SOURCE_DIR}/peal/engine/uring/parts/uring_poller.cc
    ${PROJECT_SOURCE_DIR}/peal/engine/uring/parts/uring_setup.cc
    PROPERTIES COMPILE_OPTIONS "-fno-sanitize=thread;-DPEAL_NOTE_RING_CLOSE=1" SKIP_PRECOMPILE_HEADERS ON)
endif()
