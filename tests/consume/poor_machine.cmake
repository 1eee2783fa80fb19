# SPDX-License-Identifier: BSD-3-Clause
# run.sh makes CMake include this file before peal's project(). It simulates a machine that has only the packages that
# the library itself needs.
macro(find_package name)
  if(NOT "${name}" MATCHES "^(Threads|PkgConfig|fmt|spdlog|ZLIB|OpenSSL|Protobuf|nlohmann_json)$")
    message(FATAL_ERROR "the library alone must not need ${name}")
  endif()
  _find_package(${name} ${ARGN})
endmacro()
