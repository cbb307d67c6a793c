#include "runtime/files.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flashqla {

namespace {

Error fileError(const char *code, const std::string &path) {
  return Error{code, fmt::format("{}: {}", path, std::strerror(errno)), {}};
}

bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

} // namespace

Expected<std::string> readFile(const std::string &path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return fileError("file-read", path);
  struct stat status = {};
  std::string bytes;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode))
    bytes.reserve(static_cast<std::size_t>(status.st_size));
  char block[1 << 16];
  ssize_t count = 0;
  while ((count = ::read(file, block, sizeof block)) > 0 || (count < 0 && errno == EINTR))
    if (count > 0)
      bytes.append(block, static_cast<std::size_t>(count));
  if (count < 0) {
    Error error = fileError("file-read", path);
    ::close(file);
    return error;
  }
  ::close(file);
  return bytes;
}

namespace {

/// Into what is there: renaming would put a file in the place of a device or a pipe.
Expected<void> writeInto(const std::string &path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return fileError("file-write", path);
  if (writeAll(file, bytes)) {
    ::close(file);
    return {};
  }
  Error error = fileError("file-write", path);
  ::close(file);
  return error;
}

} // namespace

Expected<void> writeFile(const std::string &path, std::string_view bytes) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return writeInto(path, bytes);
  std::string temporary = path + ".XXXXXX";
  const int file = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0)
    return fileError("file-write", path);
  bool good = writeAll(file, bytes) && ::fchmod(file, 0644) == 0;
  good = ::close(file) == 0 && good;
  if (good && std::rename(temporary.c_str(), path.c_str()) == 0)
    return {};
  Error error = fileError("file-write", path);
  ::unlink(temporary.c_str());
  return error;
}

} // namespace flashqla
