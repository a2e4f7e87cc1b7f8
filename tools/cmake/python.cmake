# The Python extension _core, with the stable ABI of Python: one file for this Python and later ones.
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bindings/python/extension/*.c)
add_library(unroll_python MODULE ${files})
if(UNROLL_LIBRARY)
    target_link_libraries(unroll_python PRIVATE ${UNROLL_LIBRARY})
else()
    target_sources(unroll_python PRIVATE $<TARGET_OBJECTS:unroll_objects>)
endif()
target_link_libraries(unroll_python PRIVATE unroll_needs)
target_include_directories(unroll_python PRIVATE ${PROJECT_SOURCE_DIR}/include ${Python_INCLUDE_DIRS})
target_compile_definitions(unroll_python PRIVATE _GNU_SOURCE)
target_compile_options(unroll_python PRIVATE -Wall -Wextra -fvisibility=hidden)
# Names of the library stay inside.
set(names ${PROJECT_SOURCE_DIR}/tools/cmake/python.map)
target_link_options(unroll_python PRIVATE -Wl,--version-script=${names})
set_target_properties(unroll_python PROPERTIES OUTPUT_NAME _core PREFIX "" SUFFIX .abi3.so C_STANDARD 11 C_EXTENSIONS OFF
    LINK_DEPENDS ${names})
install(TARGETS unroll_python LIBRARY DESTINATION unroll COMPONENT wheel)
