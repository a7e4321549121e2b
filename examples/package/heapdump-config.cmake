# find_package(heapdump) defines heapdump::heapdump: the header, and the directory of stb_ds.h, which it includes. One
# source file of the program defines HEAPDUMP_IMPLEMENTATION.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_path(HEAPDUMP_STB_INCLUDE_DIR stb_ds.h PATH_SUFFIXES stb)
if(NOT HEAPDUMP_STB_INCLUDE_DIR)
  set(heapdump_FOUND FALSE)
  set(heapdump_NOT_FOUND_MESSAGE "stb_ds.h not found: install Debian's libstb-dev, or set HEAPDUMP_STB_INCLUDE_DIR")
  return()
endif()
if(NOT TARGET heapdump::heapdump)
  get_filename_component(heapdump_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(heapdump::heapdump INTERFACE IMPORTED)
  set_target_properties(heapdump::heapdump PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${heapdump_prefix}/include;${HEAPDUMP_STB_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
