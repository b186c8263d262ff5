# One call per module builds its library, its unit tests, its benches and its fuzz targets.
#
#   penstock_module(NAME quota SOURCES a.cpp DEPS base TESTS a_test.cpp BENCHES a_bench.cpp FUZZ a_fuzz.cpp LIBS fmt::fmt)
#
# NAME      target penstock_<NAME> (static, from objects penstock_<NAME>_objects)
# DEPS      other modules by NAME; LIBS other targets
# TESTS     one executable <NAME>_test, run by ctest as <build>.<NAME> with label `unit`
# THREADED  the module's tests have threads: they are built under ThreadSanitizer too
# FUZZ      one libFuzzer executable per file; without PENSTOCK_FUZZ they are not built
include_guard()

find_program(PENSTOCK_CCACHE ccache)
if(PENSTOCK_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PENSTOCK_CCACHE})
endif()

# Tests of several build folders run in one ctest: their names start with the folder's.
get_filename_component(PENSTOCK_BUILD_NAME ${PROJECT_BINARY_DIR} NAME)

find_package(Threads REQUIRED)
if(PENSTOCK_UNIT_TESTS)
  find_package(GTest REQUIRED)
endif()
if(PENSTOCK_BENCH)
  find_package(benchmark REQUIRED)
endif()

add_library(penstock_flags INTERFACE)
target_compile_options(penstock_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       -Wno-missing-field-initializers)  # designated initialisers leave defaults in place
if(PENSTOCK_WERROR)
  target_compile_options(penstock_flags INTERFACE -Werror)
endif()
if(PENSTOCK_SANITIZE)
  target_compile_options(penstock_flags INTERFACE -fsanitize=${PENSTOCK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(penstock_flags INTERFACE -fsanitize=${PENSTOCK_SANITIZE})
  target_compile_definitions(penstock_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()

if(PENSTOCK_SANITIZE MATCHES thread)
  # Asio's fences: the sanitizer does not see them, and nothing here relies on them alone.
  target_compile_options(penstock_flags INTERFACE -Wno-tsan)
endif()

if(PENSTOCK_FUZZ)
  # Without it a fuzzer sees only its own file and searches the libraries blindly.
  target_compile_options(penstock_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(penstock_module)
  cmake_parse_arguments(M "THREADED" "NAME" "SOURCES;DEPS;LIBS;TESTS;TEST_DEPS;TEST_LIBS;BENCHES;FUZZ" ${ARGN})
  set(lib penstock_${M_NAME})
  list(TRANSFORM M_DEPS PREPEND penstock_ OUTPUT_VARIABLE deps)
  list(TRANSFORM M_TEST_DEPS PREPEND penstock_ OUTPUT_VARIABLE test_deps)

  if(M_SOURCES)
    add_library(${lib}_objects OBJECT ${M_SOURCES})
    target_include_directories(${lib}_objects PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${lib}_objects PUBLIC ${deps} ${M_LIBS} PRIVATE penstock_flags)
    add_library(${lib} STATIC $<TARGET_OBJECTS:${lib}_objects>)
    set(scope PUBLIC)
  else()
    add_library(${lib} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${lib} ${scope} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${lib} ${scope} ${deps} ${M_LIBS} Threads::Threads)

  if(PENSTOCK_UNIT_TESTS AND M_TESTS AND (M_THREADED OR NOT PENSTOCK_SANITIZE MATCHES thread))
    add_executable(${M_NAME}_test ${M_TESTS})
    target_link_libraries(${M_NAME}_test PRIVATE ${lib} ${test_deps} ${M_TEST_LIBS} penstock_flags GTest::gtest GTest::gtest_main)
    target_compile_definitions(${M_NAME}_test PRIVATE PENSTOCK_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    add_test(NAME ${PENSTOCK_BUILD_NAME}.${M_NAME} COMMAND ${M_NAME}_test)
    set_tests_properties(${PENSTOCK_BUILD_NAME}.${M_NAME} PROPERTIES LABELS unit TIMEOUT 900)
  endif()
  if(PENSTOCK_BENCH)
    foreach(bench ${M_BENCHES})
      get_filename_component(name ${bench} NAME_WE)
      add_executable(${name} ${bench})
      target_link_libraries(${name} PRIVATE ${lib} penstock_flags benchmark::benchmark benchmark::benchmark_main)
    endforeach()
  endif()
  if(PENSTOCK_FUZZ)
    foreach(fuzz ${M_FUZZ})
      get_filename_component(name ${fuzz} NAME_WE)
      add_executable(${name} ${fuzz})
      target_link_libraries(${name} PRIVATE ${lib} ${test_deps} penstock_flags)
      target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
      target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()
