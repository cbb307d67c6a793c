// The two forms of a bundle.
//
// One file, little-endian:
//     8 bytes  "FQBUNDLE"        u32  format version        u32  number of files
//     u64      bytes of the whole file
//     per file: u32 bytes of the name, the name, u64 bytes of the contents, the contents
//     u64      XXH3 of everything before
// A directory: the files themselves, and `checksums` with a line "hash bytes name" for each.
#include "flashqla/bundle.h"
#include "runtime/files.h"
#include "runtime/hash.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace flashqla {

namespace {

static_assert(std::endian::native == std::endian::little,
              "bundles are written as they are in memory");

constexpr std::string_view magic = "FQBUNDLE";
constexpr std::uint32_t formatVersion = 1;
constexpr std::size_t headerBytes = 8 + 4 + 4 + 8;
constexpr std::size_t checksumBytes = 8;

struct Section {
  std::string_view name;
  std::string Bundle::*contents;
};
constexpr Section sections[] = {{"manifest.json", &Bundle::manifest},
                                {"kernel.cubin", &Bundle::cubin},
                                {"kernel.cu", &Bundle::cuda},
                                {"kernel.tile", &Bundle::source},
                                {"build.log", &Bundle::log}};

template <class T> void put(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// Reads numbers and texts from the front; once something is missing, everything is empty.
class Cursor {
public:
  explicit Cursor(std::string_view bytes) : rest(bytes) {}

  template <class T> T number() {
    T value = 0;
    const std::string_view bytes = text(sizeof value);
    if (bytes.size() == sizeof value)
      std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view text(std::uint64_t count) {
    if (count > rest.size())
      good = false;
    if (!good)
      return {};
    const std::string_view result = rest.substr(0, count);
    rest.remove_prefix(count);
    return result;
  }
  bool complete() const { return good && rest.empty(); }

private:
  std::string_view rest;
  bool good = true;
};

Error corrupt(std::string_view name, std::string_view what) {
  return Error{"bundle-corrupt", fmt::format("{}: {}", name, what), {}};
}

std::string checksumLine(std::string_view name, std::string_view contents) {
  return fmt::format("{} {} {}\n", hashText(contents), contents.size(), name);
}

} // namespace

std::string Bundle::serialize() const {
  std::string out(magic);
  put(out, formatVersion);
  put(out, static_cast<std::uint32_t>(std::size(sections)));
  std::uint64_t total = headerBytes + checksumBytes;
  for (const Section &section : sections)
    total += 4 + section.name.size() + 8 + (this->*section.contents).size();
  put(out, total);
  for (const Section &section : sections) {
    const std::string &contents = this->*section.contents;
    put(out, static_cast<std::uint32_t>(section.name.size()));
    out += section.name;
    put(out, static_cast<std::uint64_t>(contents.size()));
    out += contents;
  }
  put(out, hashBytes(out));
  return out;
}

Expected<Bundle> Bundle::deserialize(std::string_view bytes, std::string_view name) {
  if (!bytes.starts_with(magic.substr(0, bytes.size())))
    return Error{"bundle-foreign", fmt::format("{} is no flashqla bundle", name), {}};
  if (bytes.size() < headerBytes + checksumBytes)
    return Error{"bundle-truncated",
                 fmt::format("{} ends after {} bytes, inside its header", name, bytes.size()),
                 {}};
  Cursor cursor(bytes.substr(magic.size(), bytes.size() - magic.size() - checksumBytes));
  const auto version = cursor.number<std::uint32_t>();
  if (version != formatVersion)
    return Error{"bundle-version",
                 fmt::format("{} has bundle version {}, this runtime reads version {}", name,
                             version, formatVersion),
                 {}};
  const auto count = cursor.number<std::uint32_t>();
  const auto total = cursor.number<std::uint64_t>();
  if (bytes.size() < total)
    return Error{"bundle-truncated",
                 fmt::format("{} ends after {} of {} bytes", name, bytes.size(), total),
                 {}};
  if (bytes.size() > total)
    return corrupt(name, fmt::format("{} bytes follow the bundle", bytes.size() - total));
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + bytes.size() - checksumBytes, checksumBytes);
  if (checksum != hashBytes(bytes.substr(0, bytes.size() - checksumBytes)))
    return corrupt(name, "the checksum differs from the contents");

  Bundle bundle;
  if (count != std::size(sections))
    return corrupt(name, fmt::format("{} files, expected {}", count, std::size(sections)));
  for (const Section &section : sections) {
    const std::string_view file = cursor.text(cursor.number<std::uint32_t>());
    if (file != section.name)
      return corrupt(name, fmt::format("a file `{}` where `{}` belongs", file, section.name));
    bundle.*section.contents = cursor.text(cursor.number<std::uint64_t>());
  }
  if (!cursor.complete())
    return corrupt(name, "the sizes of its files do not add up");
  return bundle;
}

Expected<Bundle> Bundle::read(const std::string &path) {
  Expected<std::string> bytes = readFile(path);
  if (!bytes)
    return std::move(bytes).error();
  return deserialize(*bytes, path);
}

Expected<void> Bundle::write(const std::string &path) const { return writeFile(path, serialize()); }

Expected<Bundle> Bundle::readDirectory(const std::string &path) {
  const Expected<std::string> checksums = readFile(path + "/checksums");
  if (!checksums)
    return checksums.error();
  Bundle bundle;
  std::string expected;
  for (const Section &section : sections) {
    const std::string file = fmt::format("{}/{}", path, section.name);
    Expected<std::string> contents = readFile(file);
    if (!contents)
      return std::move(contents).error();
    const std::string line = checksumLine(section.name, *contents);
    if (checksums->find(line) == std::string::npos)
      return corrupt(file, "the checksum differs from the contents");
    expected += line;
    bundle.*section.contents = *std::move(contents);
  }
  if (*checksums != expected)
    return corrupt(path + "/checksums", "it lists other files than a bundle has");
  return bundle;
}

Expected<void> Bundle::writeDirectory(const std::string &path) const {
  std::string checksums;
  for (const Section &section : sections) {
    const std::string &contents = this->*section.contents;
    if (auto done = writeFile(fmt::format("{}/{}", path, section.name), contents); !done)
      return done;
    checksums += checksumLine(section.name, contents);
  }
  return writeFile(path + "/checksums", checksums);
}

} // namespace flashqla
