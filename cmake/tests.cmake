# SPDX-License-Identifier: BSD-3-Clause
# One test program per folder; CTest runs each suite of cases in a process of its own, with a timeout. A sanitized
# process takes long to start, so there each runs every sixth case of its program.
# Labels: the folder for C++ tests; `python` and `house` for what no sanitizer need repeat.
find_package(GTest REQUIRED)
set(PEAL_PYTHON /usr/bin/python3 CACHE FILEPATH "The Python that has the lab's packages: Debian's own")

file(GLOB support_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cc
     ${PROJECT_SOURCE_DIR}/tests/support/dns/*.cc ${PROJECT_SOURCE_DIR}/tests/support/sealed/*.cc
     ${PROJECT_SOURCE_DIR}/tests/support/tls/*.cc)
list(FILTER support_sources EXCLUDE REGEX "_(test|bench)\\.cc$")
if(support_sources)
  add_library(peal_test_support STATIC ${support_sources})
  target_compile_definitions(peal_test_support PRIVATE PEAL_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  target_link_libraries(peal_test_support PUBLIC $<TARGET_NAME_IF_EXISTS:peal_models> peal_sim peal_tls peal
    GTest::gtest OpenSSL::SSL ZLIB::ZLIB PkgConfig::ZSTD peal_flags)
  peal_unoptimized_if_sanitized(peal_test_support)
  peal_together(peal_test_support <gmock/gmock.h> <gtest/gtest.h>)
endif()

# Messages that tests and fuzzers send.
if(PEAL_PROTOBUF)
  file(GLOB test_protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/protobuf/*.proto)
  peal_add_protos(peal_test_protos ${test_protos})
endif()

# Headers that most tests of peal/net and of the folders above it include; precompiled, they save most of the reading.
set(wide_headers ${PROJECT_SOURCE_DIR}/peal/coro/co_server.h ${PROJECT_SOURCE_DIR}/peal/http/client/http_client.h
  ${PROJECT_SOURCE_DIR}/peal/http/server/http_server.h ${PROJECT_SOURCE_DIR}/tests/support/net_rig.h
  ${PROJECT_SOURCE_DIR}/tests/support/sim_rig.h)

# peal_precompile_test(NAME) does so once for all tests that are compiled with the same flags and read the same.
function(peal_precompile_test name)
  set(headers ${PEAL_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
  if(name STREQUAL "cli_tests")
    peal_precompile(${name} ${headers} <CLI/CLI.hpp>)
    return()
  endif()
  if(NOT name MATCHES "^(base|wire|engine|observe|loop|sim|load)_tests$")
    list(APPEND headers ${wide_headers})
  endif()
  get_target_property(flags ${name} COMPILE_OPTIONS)
  string(MAKE_C_IDENTIFIER "precompiled_${flags}_${headers}" owner_property)
  get_property(owner GLOBAL PROPERTY ${owner_property})
  if(owner)
    peal_precompile(${name} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY ${owner_property} ${name})
    peal_precompile(${name} ${headers})
  endif()
endfunction()

# Tests that a sanitizer leaves out. The thread sanitizer finds nothing in tests of a single thread: peal_test_folder()
# leaves out whole programs (wire, engine, sim, cli), these filters what simulates or calculates in other programs. The
# address sanitizer need not repeat how long the models work.
set(left_out_thread "*SimTest*:*/sim:*_sim")
set(left_out_thread_load_tests "*Arrivals*:*DuelSim*")
set(left_out_thread_integration_tests "*SimSeeds*:*SimSoak*")
set(left_out_thread_regress_tests "Sim*")
set(left_out_address,undefined_models_tests "*ModelEnds.at_once*:*ModelEnds.with_its*:*ModelWork*")

# peal_keep_threaded(VARIABLE) takes the tests out of a list that neither name a thread nor use the tests' support, most
# of which has threads: the thread sanitizer has nothing to see there.
function(peal_keep_threaded variable)
  foreach(source ${${variable}})
    file(STRINGS ${source} threaded REGEX "[Tt]hread|LoopGroup|run_on|simulate\\(|<tests/support/" LIMIT_COUNT 1)
    if(threaded)
      list(APPEND kept ${source})
    endif()
  endforeach()
  set(${variable} ${kept} PARENT_SCOPE)
endfunction()

# peal_test_folder(NAME FOLDER [LIBRARIES...]) builds NAME from every *_test.cc under FOLDER.
function(peal_test_folder name folder)
  if(PEAL_SANITIZE STREQUAL "thread" AND name MATCHES "^(wire|engine|sim|cli)_tests$")
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*_test.cc)
  if(NOT PEAL_PROTOBUF)
    list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/cli/rpc/")
  endif()
  if(PEAL_SANITIZE STREQUAL "thread")
    peal_keep_threaded(sources)
  endif()
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    PEAL_SOURCE_DIR="${PROJECT_SOURCE_DIR}" PEAL_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  target_link_libraries(${name} PRIVATE peal peal_flags GTest::gtest GTest::gmock GTest::gtest_main ${ARGN})
  if(TARGET peal_test_support)
    target_link_libraries(${name} PRIVATE peal_test_support)
  endif()
  # Optimising a test costs half its compilation and finds nothing more. Coroutines that await each other without end
  # need their tail calls, which g++ makes where it optimizes. Of stack traces libbacktrace finds no lines in what clang
  # writes with -g1.
  if(PEAL_PRECOMPILE)
    if(name STREQUAL "base_tests" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      target_compile_options(${name} PRIVATE -g)
    endif()
    if(NOT name MATCHES "^(coro|sync|share)_tests$" OR CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      target_compile_options(${name} PRIVATE -O0)
    endif()
  endif()
  peal_precompile_test(${name})
  if(PEAL_PRECOMPILE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  if(PEAL_SANITIZE)
    peal_test_shards(${name} ${folder} 6)
  else()
    peal_test_suites(${name} ${folder})
  endif()
endfunction()

# peal_test_suites(NAME FOLDER) runs each suite of a test program in a process; which there are is asked after a build.
function(peal_test_suites name folder)
  set(script ${PROJECT_SOURCE_DIR}/cmake/list_suites.cmake)
  set(list ${PROJECT_BINARY_DIR}/${name}_suites.cmake)
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM BYPRODUCTS ${list} COMMAND ${CMAKE_COMMAND}
    -D PROGRAM=$<TARGET_FILE:${name}> -D FOLDER=${folder} -D OUT=${list}
    -D "EMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}" -P ${script})
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${script})
  set(include ${PROJECT_BINARY_DIR}/${name}_include.cmake)
  file(WRITE ${include} "if(EXISTS ${list})\n  include(${list})\nelse()\n"
    "  add_test(${folder}.not_built ${name}_is_not_built)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()

# peal_test_shards(NAME FOLDER COUNT) runs a test program in that many processes.
function(peal_test_shards name folder count)
  set(environment GTEST_BRIEF=1 GTEST_TOTAL_SHARDS=${count})
  set(left_out ${left_out_${PEAL_SANITIZE}} ${left_out_${PEAL_SANITIZE}_${name}})
  if(left_out)
    list(JOIN left_out ":" left_out)
    list(APPEND environment GTEST_FILTER=-${left_out})
  endif()
  # As in list_suites.cmake: what takes longest is begun first.
  set(cost 1)
  if(folder STREQUAL "tests/regress")
    set(cost 20)
  elseif(NOT folder MATCHES "^peal/" OR folder STREQUAL "peal/net")
    set(cost 10)
  endif()
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    add_test(NAME ${folder}.${index} COMMAND ${name})
    set_tests_properties(${folder}.${index} PROPERTIES TIMEOUT 600 COST ${cost} LABELS "${folder}"
      ENVIRONMENT "${environment};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# peal_script_test(NAME LABEL COMMAND...) runs a script from the repository's root; it may use what was built.
function(peal_script_test name label)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(environment PYTHONDONTWRITEBYTECODE=1 PEAL_BUILD_DIR=${PROJECT_BINARY_DIR}
    PEAL_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  # They take longest: begun first, none of them is waited for at the end.
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 COST 100 LABELS ${label} ENVIRONMENT "${environment}")
endfunction()

foreach(floor base wire engine observe loop sim tls net coro sync share http inspect process)
  peal_test_folder(${floor}_tests peal/${floor})
endforeach()
if(PEAL_PROTOBUF)
  peal_test_folder(protobuf_tests peal/protobuf peal_protobuf peal_test_protos peal_rpc_protos ZLIB::ZLIB)
endif()
if(PEAL_LAB)
  peal_test_folder(load_tests load peal_load)
  peal_test_folder(models_tests models peal_models)
  peal_test_folder(cli_tests cli peal_model_cli $<TARGET_NAME_IF_EXISTS:peal_rpc_cli>
    $<TARGET_NAME_IF_EXISTS:peal_test_protos>)
endif()
peal_test_folder(support_tests tests/support)
peal_test_folder(integration_tests tests/integration)
peal_test_folder(regress_tests tests/regress)
peal_test_folder(outside_tests tests/outside)

if(NOT PEAL_SANITIZE)
  file(GLOB_RECURSE python_tests RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/tools/*_test.py ${PROJECT_SOURCE_DIR}/versus/*_test.py ${PROJECT_SOURCE_DIR}/tests/*_test.py)
  if(NOT PEAL_PROTOBUF)
    list(FILTER python_tests EXCLUDE REGEX "^tests/(examples/protobuf|outside/rpc)_")
  endif()
  foreach(test ${python_tests})
    string(REGEX REPLACE "\\.py$" "" name ${test})
    peal_script_test(${name} python ${PEAL_PYTHON} -m pytest -q -p no:cacheprovider ${test})
    # A browser gives up what it loads when a network interface comes or goes, as they do where a namespace is made.
    file(STRINGS ${PROJECT_SOURCE_DIR}/${test} touches_interfaces REGEX "browser\\.(program|opened)|run\\.namespaces")
    if(touches_interfaces)
      set_tests_properties(${name} PROPERTIES RESOURCE_LOCK network_interfaces)
    endif()
  endforeach()
  peal_script_test(house.tidy house ${PEAL_PYTHON} tools/tidy.py)
  if(PEAL_INSTALL)
    peal_script_test(house.consume house ${PROJECT_SOURCE_DIR}/tests/consume/run.sh
      ${PROJECT_BINARY_DIR} ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_FLAGS})
  endif()
endif()
