# How every target of the project is built: the two worlds (with MLIR, without it) and the one spelling of headers.

# MLIR's package refuses find_package(MLIR 22); the version is checked by hand.
find_package(MLIR REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "expected LLVM and MLIR 22 but found ${LLVM_VERSION}; set CMAKE_PREFIX_PATH to /usr/lib/llvm-22")
endif()
set(MLIR_LINK_MLIR_DYLIB ON)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(STRATA_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")

# Executables share the libraries' precompiled header, so they are compiled as position-independent code too.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)

find_package(Threads REQUIRED)

# "strata/dialects/…", "strata/passes/…" and so on name source and generated headers alike; the installed tree has the same names.
# Sources are found through links. Folders with generated headers are built below build/strata instead: the build must know a generated
# file by the name that it is included by, or it would not rebuild what includes it.
foreach(part dialects passes lib runtime)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/roots/strata)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${part} ${PROJECT_BINARY_DIR}/roots/strata/${part} SYMBOLIC)
endforeach()
include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include ${PROJECT_BINARY_DIR}/roots ${PROJECT_BINARY_DIR})

add_compile_options(-Wall -Wextra -Wno-unused-parameter $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # LLVM's headers use lld's and clang's own idioms; these two warn about them alone.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-copy> -fcolor-diagnostics)
  # Without the time stamp inside, ccache can keep the precompiled header and what is compiled with it.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  add_link_options(-fuse-ld=lld)
endif()
if(STRATA_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(STRATA_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr,function -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# strata_library(NAME sources… [LINK libraries…]): without LLVM and MLIR.
function(strata_library name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
endfunction()

# strata_mlir_target(NAME [LINK libraries…]): compile settings and the precompiled header of everything that includes MLIR.
function(strata_mlir_target name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_definitions(${name} PRIVATE ${STRATA_LLVM_DEFINITIONS})
  target_link_libraries(${name} PUBLIC ${arg_LINK} MLIR LLVM)
  if(name STREQUAL "StrataPrecompiled")
    target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Precompiled.h)
  else()
    target_precompile_headers(${name} REUSE_FROM StrataPrecompiled)
  endif()
endfunction()

# strata_mlir_library(NAME sources… [LINK libraries…] [DEPENDS targets…])
function(strata_mlir_library name)
  cmake_parse_arguments(arg "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  strata_mlir_target(${name} LINK ${arg_LINK})
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
endfunction()

file(WRITE ${PROJECT_BINARY_DIR}/Precompiled.cpp "")
add_library(StrataPrecompiled OBJECT ${PROJECT_BINARY_DIR}/Precompiled.cpp)
strata_mlir_target(StrataPrecompiled)
