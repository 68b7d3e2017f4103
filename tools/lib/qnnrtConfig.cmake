# find_package(qnnrt): the targets of an installed qnnrt. The folder may be moved as a whole.
#
#     qnnrt::qnnrt   the headers alone: define QNNRT_IMPLEMENTATION in one file of the program
#     qnnrt::lib     the headers and libqnnrt.so, which has the implementation
#
# A program links one of the two.
get_filename_component(_qnnrt_here "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(_qnnrt_lib "${_qnnrt_here}/../.." ABSOLUTE)
get_filename_component(_qnnrt_prefix "${_qnnrt_lib}/.." ABSOLUTE)

foreach(_qnnrt_file "${_qnnrt_prefix}/include/qnnrt.h" "${_qnnrt_lib}/libqnnrt.so")
    if(NOT EXISTS "${_qnnrt_file}")
        set(qnnrt_FOUND FALSE)
        set(qnnrt_NOT_FOUND_MESSAGE "${_qnnrt_file} is missing: install qnnrt again, all of it")
        return()
    endif()
endforeach()

if(NOT TARGET qnnrt::qnnrt)
    add_library(qnnrt::qnnrt INTERFACE IMPORTED)
    set_target_properties(qnnrt::qnnrt PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${_qnnrt_prefix}/include"
        INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
endif()
if(NOT TARGET qnnrt::lib)
    add_library(qnnrt::lib SHARED IMPORTED)
    set_target_properties(qnnrt::lib PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${_qnnrt_prefix}/include"
        IMPORTED_LOCATION "${_qnnrt_lib}/libqnnrt.so"
        IMPORTED_SONAME "libqnnrt.so.@SOVERSION@")
endif()
