// Emitted CUDA text made ready for g++: the same text, word for word, but for
//
//   asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory");
//
// which becomes
//
//   FQ_ASM("st.shared.f32 [%0], %1;", fq::in(address), fq::in(x));
//
// and `#line 42 "k.tile"`, before which FQ_LINE(42) tells the emulator where a thread is. In front
// comes host_prelude.h; behind, a function through which the kernel is called.
#pragma once

#include "flashqla/error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flashqla::emulation {

/// `entry` is the kernel's name in the text. Error: emulation-text, for an assembly statement that
/// is not of the form above.
Expected<std::string> hostText(std::string_view cuda, const std::string &entry);

/// What the text keeps in shared memory: tiles and barriers by offset, for messages.
class SharedNames {
public:
  SharedNames() = default;
  explicit SharedNames(std::string_view cuda);

  /// "full + 8" for an address of the shared window.
  std::string describe(std::uint32_t address) const;

private:
  struct Item {
    std::uint32_t offset;
    std::string name;
  };
  std::vector<Item> items; // by offset
};

/// The file that `#line` directives name; empty without one.
std::string sourceName(std::string_view cuda);

} // namespace flashqla::emulation
