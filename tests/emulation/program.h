// A kernel's text as the emulator runs it: compiled, loaded, and its assembly decoded.
#pragma once

#include "tests/emulation/host_text.h"
#include "tests/emulation/ptx.h"

#include <map>
#include <string>

namespace flashqla::emulation {

struct Program {
  using Kernel = void (*)(void **parameters);

  Kernel kernel = nullptr;
  Interface **machine = nullptr; // the text's pointer to what runs it
  SharedNames names;
  std::string source;                          // the file that lines belong to
  std::map<std::string, Statement> statements; // by PTX; filled as the text asks for them
};

} // namespace flashqla::emulation
