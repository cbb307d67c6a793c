// What stands in a bundle in place of a cubin when its kernel runs on the host: the path of a
// shared library, and the CUDA text, from which messages take names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flashqla::emulation {

struct HostCode {
  static constexpr std::string_view magic = "\177ELF on the host\n"; // the runtime asks for ELF
  std::string library;
  std::string cuda;

  std::string serialize() const { return std::string(magic) + library + '\n' + cuda; }
  static std::optional<HostCode> deserialize(std::string_view bytes) {
    const std::size_t end = bytes.find('\n', magic.size());
    if (!bytes.starts_with(magic) || end == bytes.npos)
      return std::nullopt;
    return HostCode{std::string(bytes.substr(magic.size(), end - magic.size())),
                    std::string(bytes.substr(end + 1))};
  }
};

} // namespace flashqla::emulation
