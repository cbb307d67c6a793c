# Links MLIR and LLVM statically from distribution packages.
#
# Debian builds MLIR with LLVM_LINK_LLVM_DYLIB=ON, so every MLIR archive exports
# INTERFACE_LINK_LIBRARIES "...;LLVM", which is libLLVM.so. This file rewrites that edge to the static
# LLVM components. The result starts in about a millisecond and needs no shared LLVM at run time.

set(FQ_LLVM_COMPONENTS LLVMRemarks LLVMSupport)

function(_fq_make_static target)
  if(NOT TARGET ${target})
    return()
  endif()
  get_target_property(imported ${target} IMPORTED)
  get_property(done GLOBAL PROPERTY _fq_static_${target})
  if(NOT imported OR done)
    return()
  endif()
  set_property(GLOBAL PROPERTY _fq_static_${target} 1)
  get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
  if(NOT libraries)
    return()
  endif()
  set(static_libraries "")
  foreach(library IN LISTS libraries)
    if(library STREQUAL "LLVM")
      list(APPEND static_libraries ${FQ_LLVM_COMPONENTS})
    elseif(NOT library MATCHES "libz3\\.so|^zstd::|^ZLIB::") # unused by the members that are pulled in
      list(APPEND static_libraries ${library})
    endif()
  endforeach()
  set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES "${static_libraries}")
  foreach(library IN LISTS static_libraries)
    _fq_make_static(${library})
  endforeach()
endfunction()

# fq_static_mlir(MLIRParser ...): call once, before target_link_libraries.
function(fq_static_mlir)
  foreach(target IN LISTS ARGN)
    _fq_make_static(${target})
  endforeach()
endfunction()
