# SPDX-License-Identifier: BSD-3-Clause
# Microbenchmarks: one program from every *_bench.cc under peal/ and load/. libuv is there to be compared with.
find_package(benchmark REQUIRED)
pkg_check_modules(LIBUV REQUIRED IMPORTED_TARGET libuv)
file(GLOB_RECURSE bench_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/peal/*_bench.cc ${PROJECT_SOURCE_DIR}/load/*_bench.cc)
if(bench_sources)
  add_executable(peal_bench ${bench_sources})
  target_include_directories(peal_bench PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(peal_bench PRIVATE peal peal_flags
    benchmark::benchmark benchmark::benchmark_main PkgConfig::LIBUV)
  if(TARGET peal_load)
    target_link_libraries(peal_bench PRIVATE peal_load)
  endif()
endif()
