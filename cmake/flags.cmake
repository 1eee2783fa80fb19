# SPDX-License-Identifier: BSD-3-Clause
# One place for the flags of every target. Never -march=native: the binaries must run under valgrind and elsewhere.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 17)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

find_program(PEAL_CCACHE ccache)
if(PEAL_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${PEAL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PEAL_CCACHE})
endif()

# For everything, the contenders included: calls into libc without the detour over the PLT, and no vector instructions
# for two neighbouring counters (g++ 12 makes five instructions out of two).
add_compile_options(-fno-plt -fno-tree-slp-vectorize)

# g++ spends a tenth of a compilation on collecting garbage, unless it may keep 400 MB: it takes 0.9 GB then, not 0.7.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=400000>)

add_library(peal_flags INTERFACE)
set(unity_quiet -Wno-subobject-linkage -Wno-array-bounds -Wno-stringop-overflow)
target_compile_options(peal_flags INTERFACE
  -Wall -Wextra -Wpedantic $<$<BOOL:${PEAL_WERROR}>:-Werror> -Wconversion -Wno-sign-conversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  # In a unity build a parameter may have the name of another source's constant: no -Wshadow. g++ takes all sources but
  # the first for headers and warns of their internal types, and it warns of copies inside std::string: both are off.
  $<IF:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<$<COMPILE_LANG_AND_ID:CXX,GNU>:${unity_quiet}>,-Wshadow>
  # What peal/base/thread_annotations.h says about locks; g++ has no such check.
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>
  # clang 19 reads `requires`-free designated initialisers with defaults as "missing fields".
  -Wno-missing-field-initializers)
if(PEAL_SANITIZE)
  # The vptr check asks the kernel, through a pipe, whether memory is readable: it cries wolf in tests that run out of
  # descriptors on purpose.
  add_compile_options(-fsanitize=${PEAL_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PEAL_SANITIZE})
endif()

# What most sources of peal read.
set(PEAL_COMMON_HEADERS <chrono> <functional> <memory> <optional> <string> <thread> <vector> <fmt/format.h>)

# peal_precompile(NAME HEADERS...), or peal_precompile(NAME REUSE_FROM OTHER): what half of a target's compilation is
# reading is read once, where that is wanted.
function(peal_precompile name)
  if(NOT PEAL_PRECOMPILE)
    return()
  endif()
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${name} ${ARGN})
  else()
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  if(CMAKE_CXX_COMPILER_LAUNCHER AND CMAKE_CXX_COMPILER_LAUNCHER STREQUAL PEAL_CCACHE)
    # What ccache asks for before it keeps what was compiled so.
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${PEAL_CCACHE}")
  endif()
endfunction()

# peal_together(NAME HEADERS...) compiles a dozen of its sources at a time, after what all of them read, where
# compilation is to be quick. Where it is not each shows by itself what it forgot to include.
function(peal_together name)
  if(PEAL_PRECOMPILE)
    peal_precompile(${name} ${PEAL_COMMON_HEADERS} ${ARGN})
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# peal_hot(SOURCES...): these are compiled by themselves all the same where speed counts. What g++ inlines depends on a
# source's neighbours and on what was precompiled: a GET takes 1,522 instructions then, not 1,497, and an echo by a
# coroutine 419, not 390.
function(peal_hot)
  if(PEAL_HOT_APART)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# peal_unoptimized_if_sanitized(NAME): a sanitizer makes compilation take twice as long where it optimizes, and what is
# not the library itself is tested as well without.
function(peal_unoptimized_if_sanitized name)
  if(PEAL_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
  endif()
endfunction()
