# SPDX-License-Identifier: BSD-3-Clause
# A port of peal for vcpkg, from the sources of this tree: vcpkg install peal --overlay-ports=deploy/vcpkg
# NOT TRIED: the port follows vcpkg's documentation, and no vcpkg has ever run it. The feature `protobuf` is the least
# certain part: peal was compiled with protobuf 3.21 only, and vcpkg has a newer one.
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../.." ABSOLUTE)
vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options FEATURES protobuf PEAL_PROTOBUF)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DPEAL_LAB=OFF "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}" ${feature_options})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/peal)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
