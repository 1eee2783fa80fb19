# SPDX-License-Identifier: BSD-3-Clause
# peal_protobuf: messages of protobuf over peal's connections, a library of its own. Nothing else in peal links
# protobuf.
find_package(Protobuf 3.21 REQUIRED)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)

add_library(peal_protobuf ${protobuf_sources})
add_library(peal::protobuf ALIAS peal_protobuf)
set_target_properties(peal_protobuf PROPERTIES EXPORT_NAME protobuf)
peal_together(peal_protobuf)
target_link_libraries(peal_protobuf PUBLIC peal protobuf::libprotobuf
  PRIVATE $<BUILD_INTERFACE:peal_flags> PkgConfig::DEFLATE)

# peal_add_protos(NAME PROTOS...) makes a library of what protoc generates. Sources include it by the path of the .proto
# from the repository's root: <tests/protobuf/note.pb.h>. Warnings and lint are about what people write, so they
# leave it out. The target peal_protos generates without compiling: lint reads sources that include these headers.
function(peal_add_protos name)
  set(folder ${PROJECT_BINARY_DIR}/protos)
  foreach(proto ${ARGN})
    cmake_path(RELATIVE_PATH proto BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
    string(REGEX REPLACE "\\.proto$" ".pb" generated ${folder}/${path})
    add_custom_command(OUTPUT ${generated}.cc ${generated}.h VERBATIM DEPENDS ${proto} protobuf::protoc
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND protobuf::protoc -I ${PROJECT_SOURCE_DIR} --cpp_out=${folder} ${proto})
    list(APPEND sources ${generated}.cc)
  endforeach()
  add_custom_target(${name}_generated DEPENDS ${sources})
  if(NOT TARGET peal_protos)
    add_custom_target(peal_protos)
  endif()
  add_dependencies(peal_protos ${name}_generated)
  add_library(${name} STATIC ${sources})
  add_dependencies(${name} ${name}_generated)
  set_target_properties(${name} PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
  target_include_directories(${name} SYSTEM PUBLIC ${folder})
  target_compile_options(${name} PRIVATE -w)
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf)
endfunction()

# Classes of the service that RpcServer::add_reflection() serves, for its clients: `peal-rpc` and the tests. The library
# has none of them, see rpcservice.proto.
if(PEAL_LAB OR PEAL_TESTS)
  peal_add_protos(peal_rpc_protos ${PROJECT_SOURCE_DIR}/peal/protobuf/rpc/rpcservice.proto)
endif()
