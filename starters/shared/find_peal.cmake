# SPDX-License-Identifier: BSD-3-Clause
# find_peal(COMPONENTS...) finds an installed peal, or builds peal's sources as a part of this project. It looks in this
# order:
#   -DPEAL_SOURCE=DIR    a folder with peal's sources
#   -DPEAL_URL=URL       an archive of peal's sources, or a git repository if the URL ends with .git; -DPEAL_TAG=TAG
#                        chooses the commit of a repository
#   find_package         the places where CMake looks, and -DCMAKE_PREFIX_PATH=PREFIX
set(PEAL_SOURCE "" CACHE PATH "Folder with peal's sources, which are built as a part of this project")
set(PEAL_URL "" CACHE STRING "Archive or git repository of peal's sources, instead of PEAL_SOURCE")
set(PEAL_TAG "HEAD" CACHE STRING "Commit, tag or branch of PEAL_URL, if it is a git repository")

macro(find_peal)
  set(find_peal_components ${ARGN})  # in a macro, ARGN itself is no list
  if(PEAL_SOURCE OR PEAL_URL)
    include(FetchContent)
    if(PEAL_SOURCE)
      FetchContent_Declare(peal SOURCE_DIR "${PEAL_SOURCE}" SYSTEM)
    elseif(PEAL_URL MATCHES "\\.git$")
      FetchContent_Declare(peal GIT_REPOSITORY "${PEAL_URL}" GIT_TAG "${PEAL_TAG}" SYSTEM)
    else()
      FetchContent_Declare(peal URL "${PEAL_URL}" SYSTEM)
    endif()
    # Without the component, peal's protobuf part and the packages that it needs are left out.
    if(NOT "protobuf" IN_LIST find_peal_components)
      set(PEAL_PROTOBUF OFF CACHE BOOL "Build peal::protobuf")
    endif()
    FetchContent_MakeAvailable(peal)
  else()
    find_package(peal 0.1 QUIET COMPONENTS ${find_peal_components})
    if(NOT peal_FOUND)
      message(FATAL_ERROR "peal 0.1 was not found. ${peal_NOT_FOUND_MESSAGE}\n"
        "Do one of these:\n"
        "  - Install peal into a folder: in peal's sources, make install-library PREFIX=$HOME/peal. "
        "Then configure with -DCMAKE_PREFIX_PATH=$HOME/peal\n"
        "  - Install peal's packages: apt-get install ./libpeal-dev_*.deb\n"
        "  - Build peal as a part of this project: -DPEAL_SOURCE=/path/to/peal or -DPEAL_URL=URL")
    endif()
  endif()
endmacro()
