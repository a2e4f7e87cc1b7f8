"""Unroll for Conan 2, from the tree that this file is in: conan create packaging/conan"""

import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Unroll(ConanFile):
    name = "unroll"
    description = "Recurrent networks, trained and run at the speed of the hardware"
    license = "MIT"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}
    package_type = "library"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "..", "..", "include", "unroll.h"))
        self.version = ".".join(re.findall(r"#define UNROLL_VERSION_[A-Z]+\s+(\d+)", header))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*", "src/*", "extensions/*", "cli/*", "tools/*", "examples/data/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        library = os.environ.get("UNROLL_LIBRARY")      # one that is already built
        if library:
            toolchain.cache_variables["UNROLL_LIBRARY"] = library
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_target_name", "unroll::unroll")
        self.cpp_info.libs = ["unroll"]
        if not self.options.shared:
            self.cpp_info.system_libs = ["jansson", "archive", "z", "m", "pthread", "dl"]
