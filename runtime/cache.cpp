#include "runtime/cache.h"
#include "runtime/files.h"
#include "runtime/hash.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>

namespace flashqla {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t maxLabelBytes = 160;  // file names end at 255 bytes
constexpr std::int64_t staleSeconds = 3600; // no compile takes an hour

bool isPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

/// Seconds since 1970 of the last change; 0 when the path is not there.
std::int64_t modified(const std::string &path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mtime : 0;
}

std::uint64_t bytesBelow(const std::string &path) {
  std::uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator item(path, error), end; !error && item != end; item.increment(error))
    if (const std::uint64_t bytes = item->file_size(error); !error)
      total += bytes;
  return total;
}

std::vector<std::string> namesBelow(const std::string &path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator item(path, error), end; !error && item != end; item.increment(error))
    names.push_back(item->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void removeTree(const std::string &path) {
  std::error_code error;
  fs::remove_all(path, error);
}

Error writeError(const std::string &path) {
  return Error{"cache-write", fmt::format("{}: {}", path, std::strerror(errno)), {}};
}

std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

} // namespace

std::string CacheKey::text() const {
  std::string result = fmt::format("kernel: {}\narch: {}\n", kernel, arch);
  for (const auto &[name, value] : params)
    result += fmt::format("param {}: {}\n", name, value);
  for (const auto &[name, value] : staticDims)
    result += fmt::format("dim {}: {}\n", name, value);
  for (const auto &[name, value] : tools)
    result += fmt::format("{}: {}\n", name, value);
  return result + "source:\n" + source;
}

std::string CacheKey::directoryName() const {
  std::string label = fmt::format("{}.{}", kernel, arch);
  char separator = '.';
  for (const auto &[name, value] : params) {
    label += fmt::format("{}{}{}", separator, name, value);
    separator = '-';
  }
  for (const auto &[name, value] : staticDims) {
    label += fmt::format("{}{}{}", separator, name, value);
    separator = '-';
  }
  std::replace_if(label.begin(), label.end(), [](char c) { return !isPlain(c); }, '_');
  return label.substr(0, maxLabelBytes) + "." + hashText(text());
}

Cache::Cache(std::string directory)
    : root(directory.empty() ? std::string() : std::move(directory) + "/v1") {}

std::string Cache::entryPath(const CacheKey &key) const { return root + "/" + key.directoryName(); }

Cache::Lookup Cache::load(const CacheKey &key) const {
  const std::string path = entryPath(key);
  struct stat status = {};
  if (root.empty() || ::stat(path.c_str(), &status) != 0)
    return {};
  const Expected<std::string> stored = readFile(path + "/key.txt");
  if (!stored)
    return {std::nullopt, fmt::format("cache entry not used: {}", stored.error().message)};
  if (*stored != key.text())
    return {std::nullopt,
            fmt::format("cache entry not used: {}/key.txt is that of another kernel", path)};
  Expected<Bundle> bundle = Bundle::readDirectory(path);
  if (!bundle)
    return {std::nullopt, fmt::format("cache entry not used: {}", bundle.error().message)};
  // The time of the last use, for `collect`; a cache that cannot be written does without.
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return {*std::move(bundle), ""};
}

Expected<void> Cache::store(const CacheKey &key, const Bundle &bundle) const {
  if (root.empty())
    return Error{"cache-write", "there is no cache directory", {}};
  const std::string tmp = root + "/tmp";
  std::error_code error;
  fs::create_directories(tmp, error);
  if (error)
    return Error{"cache-write", fmt::format("{}: {}", tmp, error.message()), {}};
  std::string built = tmp + "/build.XXXXXX";
  if (!::mkdtemp(built.data()))
    return writeError(tmp);
  ::chmod(built.c_str(), 0755);
  Expected<void> done = bundle.writeDirectory(built);
  if (done)
    done = writeFile(built + "/key.txt", key.text());
  if (done)
    done = publish(built, key);
  removeTree(built); // nothing is left of it unless something failed or another process was first
  if (!done)
    return Error{"cache-write", done.error().message, {}};
  return {};
}

Expected<void> Cache::publish(const std::string &built, const CacheKey &key) const {
  const std::string path = entryPath(key);
  if (std::rename(built.c_str(), path.c_str()) == 0)
    return {};
  if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
    return writeError(path);
  if (load(key).bundle)
    return {};
  // What is there is corrupt, or of a key with the same hash. It leaves by a rename as well, so
  // that a reader finds the old entry, none, or the new one.
  const std::string discarded = built + ".discarded";
  if (std::rename(path.c_str(), discarded.c_str()) != 0 && errno != ENOENT)
    return writeError(path);
  const bool published =
      std::rename(built.c_str(), path.c_str()) == 0 || errno == ENOTEMPTY || errno == EEXIST;
  const Expected<void> done = published ? Expected<void>() : writeError(path);
  removeTree(discarded);
  return done;
}

std::vector<CacheEntry> Cache::list() const {
  std::vector<CacheEntry> entries;
  if (root.empty())
    return entries;
  for (const std::string &name : namesBelow(root))
    if (name != "tmp") {
      const std::string path = root + "/" + name;
      entries.push_back({name, path, bytesBelow(path), modified(path)});
    }
  return entries;
}

std::vector<CacheEntry> Cache::collect(std::uint64_t maxBytes, std::int64_t maxAgeSeconds,
                                       std::int64_t now) const {
  std::vector<CacheEntry> entries = list();
  std::stable_sort(entries.begin(), entries.end(),
                   [](const CacheEntry &a, const CacheEntry &b) { return a.lastUse < b.lastUse; });
  std::uint64_t total = 0;
  for (const CacheEntry &entry : entries)
    total += entry.bytes;
  std::vector<CacheEntry> removed;
  for (const CacheEntry &entry : entries)
    if (now - entry.lastUse > maxAgeSeconds || total > maxBytes) {
      total -= entry.bytes;
      removeTree(entry.path);
      removed.push_back(entry);
    }
  if (!root.empty())
    for (const std::string &name : namesBelow(root + "/tmp"))
      if (const std::string path = root + "/tmp/" + name; now - modified(path) > staleSeconds)
        removeTree(path);
  return removed;
}

std::vector<Cache::Problem> Cache::verify() const {
  std::vector<Problem> problems;
  for (const CacheEntry &entry : list()) {
    const Expected<std::string> key = readFile(entry.path + "/key.txt");
    const Expected<Bundle> bundle = Bundle::readDirectory(entry.path);
    if (!key)
      problems.push_back({entry, key.error()});
    else if (!bundle)
      problems.push_back({entry, bundle.error()});
    else if (!entry.name.ends_with(hashText(*key)))
      problems.push_back(
          {entry,
           Error{"bundle-corrupt", entry.path + "/key.txt does not hash to the entry's name", {}}});
  }
  return problems;
}

std::string Cache::why(const CacheKey &key) const {
  const std::string wanted = key.text();
  std::string nearest, nearestDiff;
  for (const CacheEntry &entry : list()) {
    if (!entry.name.starts_with(key.kernel + "."))
      continue;
    const Expected<std::string> stored = readFile(entry.path + "/key.txt");
    if (!stored)
      continue;
    std::string diff = diffLines(*stored, wanted);
    if (nearest.empty() || diff.size() < nearestDiff.size()) {
      nearest = entry.name;
      nearestDiff = std::move(diff);
    }
  }
  if (nearest.empty())
    return fmt::format("the cache has no entry of {}\n", key.kernel);
  if (nearestDiff.empty())
    return fmt::format("the cache has it: {}\n", nearest);
  return fmt::format("the closest entry is {}; it differs in\n{}", nearest, nearestDiff);
}

std::string diffLines(std::string_view before, std::string_view after) {
  const std::vector<std::string_view> a = splitLines(before), b = splitLines(after);
  // common[i][j]: length of the longest common subsequence of a[i…] and b[j…].
  std::vector<std::vector<unsigned>> common(a.size() + 1, std::vector<unsigned>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      common[i][j] =
          a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  std::string result;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      result += fmt::format("- {}\n", a[i++]);
    } else {
      result += fmt::format("+ {}\n", b[j++]);
    }
  }
  return result;
}

} // namespace flashqla
