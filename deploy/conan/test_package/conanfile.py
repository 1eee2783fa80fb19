# SPDX-License-Identifier: BSD-3-Clause
"""Builds and runs the programs of tests/consume with the package that `conan create` has made."""
from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class PealTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self, build_folder="../../../build/conan_test")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # otherwise Conan writes a file into deploy/conan/test_package
        toolchain.cache_variables["PEAL_PROTOBUF"] = bool(self.dependencies["peal"].options.protobuf)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            CMake(self).ctest(["--output-on-failure"])
