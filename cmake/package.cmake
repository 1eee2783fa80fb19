# SPDX-License-Identifier: BSD-3-Clause
# What `make install` leaves: public headers (all under peal/ but those in a parts/), the libraries, a CMake
# package, a pkg-config file, the program. All paths are relative to where the files end up, so the tree may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(GLOB_RECURSE public_headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/peal/*.h)
list(FILTER public_headers EXCLUDE REGEX "/parts/")
set(libraries peal peal_tls peal_sim)
if(PEAL_PROTOBUF)
  list(APPEND libraries peal_protobuf)
else()
  list(FILTER public_headers EXCLUDE REGEX "^peal/protobuf/")
endif()
foreach(header ${public_headers})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()

# Each library has a file of targets of its own, so that a distribution may have a package for each of them. Shared
# libraries find each other, and the program finds them.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/peal)
set(exported ${libraries})
if(TARGET peal_shared)
  list(APPEND exported peal_shared)
endif()
set_target_properties(${exported} PROPERTIES INSTALL_RPATH "$ORIGIN")
foreach(library ${exported})
  install(TARGETS ${library} EXPORT ${library}_targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT ${library}_targets NAMESPACE peal:: FILE ${library}Targets.cmake DESTINATION ${package_folder})
endforeach()
# Most of an archive would be debug information, of sources that its users do not have; functions keep their names.
get_target_property(peal_library_type peal TYPE)
if(peal_library_type STREQUAL "STATIC_LIBRARY")
  foreach(library ${libraries})
    set(archive "\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:${library}>")
    install(CODE
      "execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug \"${archive}\" COMMAND_ERROR_IS_FATAL ANY)")
  endforeach()
endif()
add_custom_target(installed DEPENDS ${exported})
if(PEAL_LAB)
  set(programs peal_program peal_model_program)
  if(PEAL_PROTOBUF)
    list(APPEND programs peal_rpc_program)
  endif()
  set_target_properties(${programs} PROPERTIES
    INSTALL_RPATH "$ORIGIN/$<PATH:RELATIVE_PATH,${CMAKE_INSTALL_LIBDIR},${CMAKE_INSTALL_BINDIR}>")
  add_dependencies(installed ${programs})
  install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Manual pages and completions, as the programs themselves print them.
  set(shown_by_man "${CMAKE_INSTALL_MANDIR}/man1/@.1")
  set(shown_by_bash "${CMAKE_INSTALL_DATADIR}/bash-completion/completions/@")
  set(shown_by_zsh "${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_@")
  set(shown_by_fish "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/@.fish")
  foreach(program ${programs})
    foreach(shower man bash zsh fish)
      string(REPLACE "@" "$<TARGET_FILE_NAME:${program}>" file "${shown_by_${shower}}")
      if(shower STREQUAL "man")
        set(words man)
      else()
        set(words "completion ${shower}")
      endif()
      install(CODE "
        set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${file}\")
        cmake_path(GET file PARENT_PATH folder)
        file(MAKE_DIRECTORY \"\${folder}\")
        execute_process(COMMAND \"$<TARGET_FILE:${program}>\" ${words} OUTPUT_FILE \"\${file}\"
          COMMAND_ERROR_IS_FATAL ANY)
        message(STATUS \"Installing: \${file}\")")
    endforeach()
  endforeach()
endif()

configure_package_config_file(cmake/pealConfig.cmake.in ${PROJECT_BINARY_DIR}/pealConfig.cmake
  INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pealConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pealConfig.cmake ${PROJECT_BINARY_DIR}/pealConfigVersion.cmake
  DESTINATION ${package_folder})

file(RELATIVE_PATH pkgconfig_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pkgconfig_to_prefix ${pkgconfig_to_prefix})
foreach(library ${libraries})
  string(REPLACE "_" "-" module ${library})
  configure_file(cmake/${module}.pc.in ${PROJECT_BINARY_DIR}/${module}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
