# SPDX-License-Identifier: BSD-3-Clause
"""peal's libraries as a Conan package, from the sources of this tree: conan create deploy/conan --no-remote

What peal links comes from Debian's packages, as peal::peal's CMake package wants it. Conan checks that they are there;
with `-c tools.system.package_manager:mode=install` it installs them.
"""
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

PACKAGES = ["libfmt-dev", "libspdlog-dev", "liburing-dev", "libc-ares-dev", "zlib1g-dev", "libzstd-dev", "libssl-dev",
            "nlohmann-json3-dev", "pkg-config"]
PROTOBUF_PACKAGES = ["libprotobuf-dev", "libdeflate-dev", "protobuf-compiler"]


class Peal(ConanFile):
    name = "peal"
    license = "BSD-3-Clause"
    description = "A C++23 network library for Linux: one event loop per thread"
    topics = ("network", "http", "websocket", "coroutines", "io_uring")
    settings = "os", "arch", "compiler", "build_type"
    options = {"protobuf": [True, False]}
    default_options = {"protobuf": True}
    generators = "CMakeToolchain"

    def set_version(self):
        line = next(line for line in load(self, Path(self.recipe_folder, "../../CMakeLists.txt")).splitlines()
                    if line.startswith("project(peal VERSION "))
        self.version = line.split()[2]

    def export_sources(self):
        root = Path(self.recipe_folder, "../..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "peal/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 23)

    def system_requirements(self):
        Apt(self).install(PACKAGES + (PROTOBUF_PACKAGES if self.options.protobuf else []))

    def build(self):
        cmake = CMake(self)
        cmake.configure(variables={"PEAL_LAB": False, "PEAL_PROTOBUF": bool(self.options.protobuf)})
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # Who uses the package finds peal::peal and the others by the CMake package that peal installs.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/peal"]
