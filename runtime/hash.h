// Checksums of files and names of cache entries: XXH3, 64 bits. Not for secrets.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace flashqla {

inline std::uint64_t hashBytes(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

/// Sixteen hexadecimal digits.
inline std::string hashText(std::string_view bytes) {
  return fmt::format("{:016x}", hashBytes(bytes));
}

} // namespace flashqla
