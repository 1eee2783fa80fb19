# SPDX-License-Identifier: BSD-3-Clause
# One program per fuzz/*_fuzz.cc. Under the fuzz preset it is a libFuzzer; in every other build it replays its corpus
# (fuzz/corpus/NAME, found by an earlier run or written by hand) as an ordinary test.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc)
add_custom_target(fuzzers)
set(parsers peal)
set(layers peal_tls peal_sim peal)
if("${PEAL_SANITIZE}" MATCHES "fuzzer")
  # Only what parsers are made of: the floors above take minutes to build, and no fuzzer calls them.
  file(GLOB_RECURSE parser_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/peal/base/*.cc
       ${PROJECT_SOURCE_DIR}/peal/wire/*.cc)
  list(FILTER parser_sources EXCLUDE REGEX "_(test|bench)\\.cc$")
  add_library(peal_parsers STATIC EXCLUDE_FROM_ALL ${parser_sources})
  peal_together(peal_parsers)
  target_include_directories(peal_parsers PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(peal_parsers ${PEAL_NEEDS})
  set(parsers peal_parsers)
  # And what a layer stands on, for the one fuzzer that runs one.
  file(GLOB_RECURSE layer_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/peal/engine/*.cc
       ${PROJECT_SOURCE_DIR}/peal/observe/*.cc ${PROJECT_SOURCE_DIR}/peal/loop/*.cc ${PROJECT_SOURCE_DIR}/peal/sim/*.cc
       ${PROJECT_SOURCE_DIR}/peal/tls/*.cc)
  list(FILTER layer_sources EXCLUDE REGEX "_(test|bench)\\.cc$")
  add_library(peal_layers STATIC EXCLUDE_FROM_ALL ${layer_sources})
  peal_together(peal_layers)
  target_link_libraries(peal_layers PUBLIC peal_parsers OpenSSL::SSL)
  set(layers peal_layers)
endif()
foreach(source ${fuzz_sources})
  cmake_path(GET source STEM program)
  string(REGEX REPLACE "_fuzz$" "" name ${program})
  add_executable(${program} ${source})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
  if(name STREQUAL "tls_layer")
    target_link_libraries(${program} PRIVATE ${layers} peal_flags)
  else()
    target_link_libraries(${program} PRIVATE ${parsers} peal_flags)
  endif()
  if(name STREQUAL "echo_frame")  # the one protocol that is the models'
    target_sources(${program} PRIVATE ${PROJECT_SOURCE_DIR}/models/common/echo/echo_frame.cc)
  endif()
  add_dependencies(fuzzers ${program})
  if("${PEAL_SANITIZE}" MATCHES "fuzzer")
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${program} PRIVATE ${PROJECT_SOURCE_DIR}/fuzz/replay.cc)
    add_test(NAME fuzz.${name} COMMAND ${program} ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
    set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 60 LABELS fuzz)
  endif()
endforeach()
