#include "compiler/driver/build_id.h"

#include <fmt/format.h>

#include <cstring>
#include <elf.h>
#include <link.h>

namespace flashqla::driver {
namespace {

/// Reads the GNU build id note of the program itself, which the loader lists first.
int readNotes(dl_phdr_info *info, size_t, void *data) {
  auto &id = *static_cast<std::string *>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE)
      continue;
    const char *note = reinterpret_cast<const char *>(info->dlpi_addr + header.p_vaddr), *end = note + header.p_memsz;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) head;
      std::memcpy(&head, note, sizeof head);
      const char *name = note + sizeof head, *description = name + (head.n_namesz + 3) / 4 * 4;
      if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
        for (size_t byte = 0; byte < head.n_descsz; ++byte)
          id += fmt::format("{:02x}", static_cast<unsigned char>(description[byte]));
      note = description + (head.n_descsz + 3) / 4 * 4;
    }
  }
  return 1; // the program only, not its libraries
}

} // namespace

std::string buildId() {
  std::string id;
  dl_iterate_phdr(readNotes, &id);
  return fmt::format("{}{}{}", FLASHQLA_VERSION, id.empty() ? "" : "+", id);
}

} // namespace flashqla::driver
