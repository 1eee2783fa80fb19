# SPDX-License-Identifier: BSD-3-Clause
# Included before peal's own project() by run.sh: a machine that has only the packages the library itself needs.
macro(find_package name)
  if(NOT "${name}" MATCHES "^(Threads|PkgConfig|fmt|spdlog|ZLIB|OpenSSL|Protobuf|nlohmann_json)$")
    message(FATAL_ERROR "the library alone asks for ${name}")
  endif()
  _find_package(${name} ${ARGN})
endmacro()
