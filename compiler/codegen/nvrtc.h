/// NVRTC: CUDA text to a cubin, and what its assembler says about it.
///
/// The library is opened at run time, so that one binary works with and without a CUDA toolkit. No GPU is needed. The
/// log is always read: products that the assembler serialised, waits that it injected, ignored register budgets and
/// spills make a kernel slow without changing its results, which nobody notices otherwise.
#pragma once

#include "flashqla/error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flashqla::codegen {

/// A message of the assembler about the kernel's speed.
struct Advisory {
  std::string code;    ///< "C7510"; empty if the message has none
  std::string text;
  int line = 0;        ///< of the `.tile` file, through `#line`; 0 if unknown
};

/// An error of the CUDA compiler; the emitted text is at fault, not the author.
struct CudaError {
  std::string file;
  int line = 0;
  std::string text;
};

struct CompiledCuda {
  std::string ptx, cubin;
  std::string log;                ///< as NVRTC printed it
  int registers = 0, stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0;
  std::vector<Advisory> advisories;
  std::vector<CudaError> errors;  ///< not empty: there is no cubin
};

class Nvrtc {
public:
  /// Opens `path`, or libnvrtc of CUDA 13 or 12 where that is empty: by the linker's search, then in /usr/local/cuda.
  /// Error: nvrtc-missing.
  static Expected<Nvrtc> open(const std::string &path);

  /// "13.0 (libnvrtc.so.13)".
  const std::string &version() const { return versionText; }

  /// Compiles for an architecture such as "sm_90a". Error: nvrtc-failed, for what is not an error in the text.
  Expected<CompiledCuda> compile(const std::string &text, const std::string &name, const std::string &arch) const;

  /// The flags of every compile, part of the cache's key.
  static const std::vector<std::string> &flags();

private:
  struct Functions;
  const Functions *functions = nullptr; ///< lives as long as the process, like the library
  std::string versionText;
};

/// Reads registers, spills and advisories out of a log; `ptx` gives the lines that its line numbers mean.
void readLog(CompiledCuda &result);

} // namespace flashqla::codegen
