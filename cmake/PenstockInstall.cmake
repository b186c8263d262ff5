# The installed library: penstock::penstock (limiter, quotas, memory store) with its export set.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Also with link-time optimisation its objects hold machine code: another compiler, or another version
# of this one, cannot read what GCC keeps for itself.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  foreach(part base quota store memory)
    target_compile_options(penstock_${part}_objects PRIVATE -ffat-lto-objects)
  endforeach()
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  foreach(part base quota store memory)
    set_target_properties(penstock_${part}_objects PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  endforeach()
endif()

add_library(penstock STATIC $<TARGET_OBJECTS:penstock_base_objects> $<TARGET_OBJECTS:penstock_quota_objects>
                            $<TARGET_OBJECTS:penstock_store_objects> $<TARGET_OBJECTS:penstock_memory_objects>)
add_library(penstock::penstock ALIAS penstock)
target_compile_features(penstock PUBLIC cxx_std_20)
target_include_directories(penstock PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(penstock PUBLIC Threads::Threads)

install(TARGETS penstock EXPORT penstock_targets ARCHIVE COMPONENT dev)
install(DIRECTORY include/penstock TYPE INCLUDE COMPONENT dev)
install(EXPORT penstock_targets NAMESPACE penstock:: FILE penstock-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/penstock COMPONENT dev)
configure_package_config_file(cmake/penstock-config.cmake.in penstock-config.cmake
        INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
write_basic_package_version_file(penstock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/penstock-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/penstock-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/penstock COMPONENT dev)
