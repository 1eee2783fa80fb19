# SPDX-License-Identifier: BSD-3-Clause
# -DCMAKE_TOOLCHAIN_FILE=.../arm64_toolchain.cmake compiles for ARM64 on a Debian of another processor. The libraries
# come from Debian's packages for arm64. If qemu is installed, it runs what the build must run: the tests' programs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# Otherwise pkg-config finds the libraries of the machine that compiles.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
find_program(PEAL_QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(PEAL_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${PEAL_QEMU})
endif()
