// What a kernel does wrong, thrown where it is noticed; the emulator ends the launch with it.
#pragma once

#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <utility>

namespace flashqla::emulation {

/// `what()` is a sentence without the thread, which whoever runs threads puts in front.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void violate(fmt::format_string<Args...> text, Args &&...args) {
  throw Violation(fmt::format(text, std::forward<Args>(args)...));
}

} // namespace flashqla::emulation
