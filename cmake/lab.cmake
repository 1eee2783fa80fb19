# SPDX-License-Identifier: BSD-3-Clause
# The lab: the load generator, the concurrency models, the `peal` program, the examples and the contenders.
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

# peal_lab_sources(VARIABLE FOLDER) lists what FOLDER compiles to: its sources but the tests and the benchmarks.
function(peal_lab_sources variable folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cc$")
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

peal_lab_sources(load_sources load)
if(load_sources)
  add_library(peal_load STATIC ${load_sources})
  target_include_directories(peal_load PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(peal_load PUBLIC peal_tls peal PRIVATE peal_flags nlohmann_json::nlohmann_json ZLIB::ZLIB)
  peal_together(peal_load <nlohmann/json.hpp>)
endif()

# The concurrency models. Boost.Context changes stacks for the stackful coroutines.
find_package(Boost REQUIRED COMPONENTS context)
peal_lab_sources(model_sources models)
add_library(peal_models STATIC ${model_sources})
target_include_directories(peal_models PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(peal_models PUBLIC peal PRIVATE peal_flags Boost::context PkgConfig::LIBURING)
peal_unoptimized_if_sanitized(peal_models)
if(NOT PEAL_HOT_APART)  # all of them are measured
  peal_together(peal_models)
endif()

# The programs `peal` and, since the models take as long to compile as the rest, `peal-model`. All of them but their
# main() is in libraries, so that cli/*_test.cc can reach it.
peal_lab_sources(cli_sources cli)
set(cli_main ${PROJECT_SOURCE_DIR}/cli/main.cc)
set(model_main ${PROJECT_SOURCE_DIR}/cli/model_main.cc)
set(model_commands ${PROJECT_SOURCE_DIR}/cli/model.cc)
peal_lab_sources(rpc_sources cli/rpc)
list(REMOVE_ITEM cli_sources ${cli_main} ${model_main} ${model_commands} ${rpc_sources})
include(cmake/starters.cmake)
peal_starters_source(starters_source)
list(APPEND cli_sources ${starters_source})
add_library(peal_cli STATIC ${cli_sources})
target_include_directories(peal_cli PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(peal_cli PUBLIC peal_load peal_tls peal CLI11::CLI11 nlohmann_json::nlohmann_json
  PRIVATE peal_flags)
peal_together(peal_cli <CLI/CLI.hpp> <nlohmann/json.hpp>)
peal_hot(${PROJECT_SOURCE_DIR}/cli/serve/echo_services.cc ${PROJECT_SOURCE_DIR}/cli/serve/http_service.cc)
add_library(peal_model_cli STATIC ${model_commands})
target_link_libraries(peal_model_cli PUBLIC peal_cli peal_models PRIVATE peal_flags)
add_executable(peal_program ${cli_main})
set_target_properties(peal_program PROPERTIES OUTPUT_NAME peal)
target_link_libraries(peal_program PRIVATE peal_cli peal_flags)
add_executable(peal_model_program ${model_main})
set_target_properties(peal_model_program PROPERTIES OUTPUT_NAME peal-model)
target_link_libraries(peal_model_program PRIVATE peal_model_cli peal_flags)
foreach(program peal_program peal_model_program)
  target_compile_definitions(${program} PRIVATE PEAL_VERSION="${PROJECT_VERSION}")
  peal_precompile(${program} REUSE_FROM peal_cli)
endforeach()
peal_precompile(peal_model_cli REUSE_FROM peal_cli)
if(PEAL_PRECOMPILE AND NOT PEAL_HOT_APART)
  # The command line is parsed once, so -O0 costs nothing there and saves compile time. Builds that are measured do not
  # do this: the linker may take the -O0 copy of an inline function for the whole program.
  foreach(target peal_cli peal_model_cli peal_program peal_model_program)
    target_compile_options(${target} PRIVATE -O0)
  endforeach()
endif()

# The program `peal-rpc`, since `peal` does not link protobuf.
if(PEAL_PROTOBUF)
  find_path(PEAL_PROTOC_HEADERS google/protobuf/compiler/parser.h HINTS ${Protobuf_INCLUDE_DIRS})
  if(NOT PEAL_PROTOC_HEADERS)
    message(FATAL_ERROR "peal-rpc needs the parser of .proto files (Debian: libprotoc-dev), or -DPEAL_PROTOBUF=OFF")
  endif()
  set(rpc_main ${PROJECT_SOURCE_DIR}/cli/rpc/rpc_main.cc)
  list(REMOVE_ITEM rpc_sources ${rpc_main})
  add_library(peal_rpc_cli STATIC ${rpc_sources})
  target_link_libraries(peal_rpc_cli PUBLIC peal_cli peal_protobuf peal_rpc_protos PRIVATE peal_flags)
  add_executable(peal_rpc_program ${rpc_main})
  set_target_properties(peal_rpc_program PROPERTIES OUTPUT_NAME peal-rpc)
  target_compile_definitions(peal_rpc_program PRIVATE PEAL_VERSION="${PROJECT_VERSION}")
  target_link_libraries(peal_rpc_program PRIVATE peal_rpc_cli peal_flags)
endif()

# Every source under examples/ that has a main is a program of its own; what the others hold is shared.
if(PEAL_SANITIZE)
  # Those that C++ tests run; the others are driven from Python, which is not sanitized.
  file(GLOB_RECURSE example_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/transfer/*.cc
       ${PROJECT_SOURCE_DIR}/examples/relay/*.cc)
else()
  file(GLOB_RECURSE example_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cc)
  file(GLOB protobuf_examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/protobuf/*.cc
       ${PROJECT_SOURCE_DIR}/examples/*_rpc.cc)
  if(NOT PEAL_PROTOBUF)
    list(REMOVE_ITEM example_sources ${protobuf_examples})
  endif()
endif()
set(example_shared_sources)
foreach(source ${example_sources})
  file(STRINGS ${source} main REGEX "^int main\\(")
  if(NOT main)
    list(APPEND example_shared_sources ${source})
  endif()
endforeach()
if(example_shared_sources)
  list(REMOVE_ITEM example_sources ${example_shared_sources})
endif()
if(example_shared_sources)
  add_library(peal_examples STATIC ${example_shared_sources})
  target_link_libraries(peal_examples PUBLIC peal PRIVATE peal_flags)
  # Where compilation is to be quick, what nearly all of them begin with is read once.
  set(example_headers ${PROJECT_SOURCE_DIR}/examples/shared/service.h
    ${PROJECT_SOURCE_DIR}/peal/http/server/http_server.h)
  peal_precompile(peal_examples ${PEAL_COMMON_HEADERS} ${example_headers})
endif()
foreach(source ${example_sources})
  cmake_path(GET source STEM stem)
  add_executable(example_${stem} ${source})
  set_target_properties(example_${stem} PROPERTIES OUTPUT_NAME ${stem}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/examples)
  target_link_libraries(example_${stem} PRIVATE $<TARGET_NAME_IF_EXISTS:peal_examples> peal_sim peal_tls peal
    peal_flags)
  if(TARGET peal_examples)
    peal_precompile(example_${stem} REUSE_FROM peal_examples)
  endif()
endforeach()

if(TARGET example_thread_values)  # a stream that packs on the way
  target_link_libraries(example_thread_values PRIVATE ZLIB::ZLIB)
endif()
if(PEAL_PROTOBUF AND NOT PEAL_SANITIZE)
  file(GLOB example_protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/protobuf/*.proto)
  peal_add_protos(peal_example_protos ${example_protos})
  foreach(source ${protobuf_examples})
    cmake_path(GET source STEM stem)
    target_link_libraries(example_${stem} PRIVATE peal_protobuf peal_example_protos)
  endforeach()
endif()

peal_add_starters()

# What the quick lab starts (`make run`), the program and its contenders, and nothing else.
add_custom_target(quick_lab)
add_dependencies(quick_lab peal_program)
if(PEAL_CONTENDERS AND EXISTS ${PROJECT_SOURCE_DIR}/versus/contenders/CMakeLists.txt)
  add_subdirectory(versus/contenders)
endif()
