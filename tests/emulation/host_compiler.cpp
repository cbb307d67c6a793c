// Bundles whose code g++ has compiled.
#include "runtime/files.h"
#include "runtime/hash.h"
#include "runtime/manifest.h"
#include "tests/emulation/emulator.h"
#include "tests/emulation/host_code.h"
#include "tests/emulation/host_text.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace flashqla::emulation {

namespace {

// Faults are exceptions that begin in the text. Its static variables are its own: by default those
// of inline functions would be shared with other texts.
constexpr const char *flags = "-std=c++20 -O1 -w -fPIC -shared -fnon-call-exceptions "
                              "-fno-gnu-unique -fno-threadsafe-statics";

/// Compiles into a file beside `library` and renames it, so that two processes do not disturb each
/// other.
Expected<void> compile(const std::string &text, const std::string &library) {
  const std::string part = fmt::format("{}.{}", library, getpid());
  const std::string source = part + ".cpp", log = part + ".log";
  if (auto done = writeFile(source, text); !done)
    return done;
  const std::string command = fmt::format("c++ {} -I '{}' -o '{}' '{}' 2> '{}'", flags,
                                          FQ_EMULATION_FOLDER, part, source, log);
  std::error_code ignored;
  if (std::system(command.c_str()) != 0) {
    const Expected<std::string> messages = readFile(log);
    return Error{"emulation-compiler",
                 fmt::format("the text of the kernel does not compile: {}", command),
                 {messages ? *messages : ""}};
  }
  std::filesystem::remove(source, ignored);
  std::filesystem::remove(log, ignored);
  std::filesystem::rename(part, library, ignored);
  return {};
}

} // namespace

bool hasCompiler() {
  static const bool found = std::system("c++ --version > /dev/null 2>&1") == 0;
  return found;
}

std::string testFolder() {
  const std::filesystem::path folder = FQ_EMULATION_BUILD;
  const auto yesterday = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.last_write_time(ignored) < yesterday)
      std::filesystem::remove(entry.path(), ignored);
  return folder;
}

Expected<Bundle> hostBundle(Bundle bundle, const std::string &folder) {
  const Expected<Manifest> manifest = readManifest(bundle.manifest);
  if (!manifest)
    return manifest.error();
  const Expected<std::string> text = hostText(bundle.cuda, manifest->entry);
  if (!text)
    return text.error();
  std::string key = flags + *text;
  for (const char *header : {"host_prelude.h", "interface.h"}) {
    const Expected<std::string> contents = readFile(std::string(FQ_EMULATION_FOLDER "/") + header);
    if (!contents)
      return contents.error();
    key += *contents;
  }
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const std::string library =
      std::filesystem::absolute(folder) / fmt::format("{}.{}.so", manifest->kernel, hashText(key));
  if (!std::filesystem::exists(library))
    if (auto done = compile(*text, library); !done)
      return std::move(done).error();
  bundle.cubin = HostCode{library, bundle.cuda}.serialize();
  return bundle;
}

Expected<Bundle> HostProvider::provide(const KernelRequest &request) {
  Expected<Bundle> bundle = provider.provide(request);
  if (!bundle)
    return bundle;
  return hostBundle(*std::move(bundle), folder);
}

} // namespace flashqla::emulation
