# SPDX-License-Identifier: BSD-3-Clause
# A port of peal for vcpkg, from the sources of this tree: vcpkg install peal --overlay-ports=deploy/vcpkg
# NOT TRIED: it was written from vcpkg's documentation and has never been run.
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../.." ABSOLUTE)
vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options FEATURES protobuf PEAL_PROTOBUF)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DPEAL_LAB=OFF ${feature_options})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/peal)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
