// Compiled kernels on disk: one directory per kernel, published by a rename, verified when loaded.
//
//     const Cache cache(environment.cacheDir);
//     Cache::Lookup found = cache.load(key);
//     if (!found.bundle) {
//       Bundle bundle = …compile…;
//       if (auto stored = cache.store(key, bundle); !stored)
//         note(stored.error());                       // works without a cache, but says so
//     }
//
// An entry is `DIR/v1/gemm_nt.sm_90a.BM128-BN128.3f9a1c77d0e5b612/`, the hash being XXH3 of
// `key.txt`, with the files of a bundle and `key.txt` itself, which is compared on every load: a
// colliding hash is a miss, never the wrong kernel. Entries are built in `DIR/v1/tmp` and renamed,
// without locks; who loses a race deletes its own directory. An entry whose checksums differ is a
// miss with a note, and the next `store` replaces it. A directory that cannot be written still
// serves what it has.
#pragma once

#include "flashqla/bundle.h"
#include "flashqla/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flashqla {

/// Everything that decides what a compiled kernel is.
struct CacheKey {
  std::string kernel;
  std::string arch;
  std::vector<std::pair<std::string, std::string>> params;      // name, value text
  std::vector<std::pair<std::string, std::int64_t>> staticDims; // name, value
  /// What else decides: compiler version, hash of the prelude, NVRTC version, flags; in a fixed
  /// order.
  std::vector<std::pair<std::string, std::string>> tools;
  std::string source; // canonical text

  /// The contents of key.txt: one "name: value" per line, then the source.
  std::string text() const;
  /// "gemm_nt.sm_90a.BM128-BN128.<hash>": letters, digits, `.`, `_` and `-` only.
  std::string directoryName() const;
};

struct CacheEntry {
  std::string name; // of the directory
  std::string path;
  std::uint64_t bytes = 0;
  std::int64_t lastUse = 0; // seconds since 1970
};

class Cache {
public:
  struct Lookup {
    std::optional<Bundle> bundle;
    std::string note; // why an entry that is there was not used; empty otherwise
  };
  struct Problem {
    CacheEntry entry;
    Error error;
  };

  /// Creates nothing yet. An empty directory name is a cache that holds nothing.
  explicit Cache(std::string directory);

  Lookup load(const CacheKey &key) const;
  /// Publishes an entry, or finds that another process already has. Error: cache-write.
  Expected<void> store(const CacheKey &key, const Bundle &bundle) const;

  /// All entries, by name.
  std::vector<CacheEntry> list() const;
  /// Removes what was not used for `maxAgeSeconds`, then the least recently used until `maxBytes`
  /// remain, and what dead processes left in `tmp`. `now` is in seconds since 1970. Returns what
  /// was removed.
  std::vector<CacheEntry> collect(std::uint64_t maxBytes, std::int64_t maxAgeSeconds,
                                  std::int64_t now) const;
  /// Reads every entry and compares checksums and hashes.
  std::vector<Problem> verify() const;
  /// Why there is no entry for this key: the lines that differ from the closest entry of the same
  /// kernel.
  std::string why(const CacheKey &key) const;

private:
  std::string entryPath(const CacheKey &key) const;
  Expected<void> publish(const std::string &built, const CacheKey &key) const;

  std::string root; // DIR/v1
};

/// The lines only `before` has ("- …") and only `after` has ("+ …"), in order; empty when they are
/// equal.
std::string diffLines(std::string_view before, std::string_view after);

} // namespace flashqla
