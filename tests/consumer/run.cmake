# cmake -DSOURCE=<tree> -DBUILD=<build folder> -DWORK=<folder that may be emptied> -P run.cmake
# Installs the library's component into a prefix, builds the consumer against it and runs it.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "exit ${code}: ${ARGN}\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --component dev --prefix ${WORK}/prefix)
# Copied, so that no path of this tree can help.
file(COPY ${SOURCE}/tests/consumer/project DESTINATION ${WORK})
# With the compiler that built the library, and with clang too, whoever built it.
find_program(CLANG NAMES clang++-14 clang++)
set(compilers ${COMPILER})
if(CLANG)
  list(APPEND compilers ${CLANG})
endif()
foreach(compiler IN LISTS compilers)
  cmake_path(GET compiler FILENAME name)
  set(build ${WORK}/build-${name})
  run(${CMAKE_COMMAND} -S ${WORK}/project -B ${build} -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  run(${CMAKE_COMMAND} --build ${build} --parallel 2)
  run(${build}/promises)
  run(${build}/login)
  if(NOT output MATCHES "ada: passes, 0 left[^\n]*\nada: waits, 0 left, retry after 60 s\nbob: passes, 4 left")
    message(FATAL_ERROR "login built by ${name} printed:\n${output}")
  endif()
endforeach()

# The page shows the very program that was just run.
file(READ ${SOURCE}/tests/consumer/project/login.cpp program)
file(READ ${SOURCE}/docs/library.md page)
string(FIND "${page}" "${program}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "docs/library.md does not quote tests/consumer/project/login.cpp as it is")
endif()

# And so does the example at the head of limiter.hpp.
file(STRINGS ${SOURCE}/include/penstock/limiter.hpp example REGEX "^//   ")
if(NOT example)
  message(FATAL_ERROR "limiter.hpp has no example any more")
endif()
foreach(line IN LISTS example)
  string(REGEX REPLACE "^//   *" "" code "${line}")
  string(FIND "${program}" "${code}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "limiter.hpp shows a line that login.cpp does not have: ${code}")
  endif()
endforeach()
