# find_package(heapdump) gives heapdump::heapdump: a header, and where stb_ds.h is that it includes. One source file
# of the program has HEAPDUMP_IMPLEMENTATION.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_path(HEAPDUMP_STB_INCLUDE_DIR stb_ds.h PATH_SUFFIXES stb)
if(NOT HEAPDUMP_STB_INCLUDE_DIR)
  set(heapdump_FOUND FALSE)
  set(heapdump_NOT_FOUND_MESSAGE "stb_ds.h is needed: of Debian's libstb-dev, or where HEAPDUMP_STB_INCLUDE_DIR says")
  return()
endif()
if(NOT TARGET heapdump::heapdump)
  get_filename_component(heapdump_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(heapdump::heapdump INTERFACE IMPORTED)
  set_target_properties(heapdump::heapdump PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${heapdump_prefix}/include;${HEAPDUMP_STB_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
