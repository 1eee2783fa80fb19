# SPDX-License-Identifier: BSD-3-Clause
# The library: every source under peal/ but the tests and the benchmarks.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(LIBURING REQUIRED IMPORTED_TARGET liburing)

file(GLOB_RECURSE peal_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/peal/*.cc)
list(FILTER peal_sources EXCLUDE REGEX "_(test|bench)\\.cc$")

add_library(peal ${peal_sources})
add_library(peal::peal ALIAS peal)
target_compile_features(peal PUBLIC cxx_std_23)
target_include_directories(peal PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
target_link_libraries(peal PUBLIC Threads::Threads fmt::fmt
  PRIVATE $<BUILD_INTERFACE:peal_flags> spdlog::spdlog PkgConfig::LIBURING ZLIB::ZLIB)
