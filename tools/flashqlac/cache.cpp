#include "runtime/cache.h"
#include "tools/flashqlac/verbs.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <ostream>

namespace flashqla::cli {

namespace {

constexpr std::int64_t secondsPerDay = 24 * 60 * 60;
constexpr std::uint64_t bytesPerMegabyte = 1'000'000;

/// Error: cache-missing.
Expected<Cache> openCache(const Context &context) {
  if (context.environment.cacheDir.empty())
    return Error{
        "cache-missing", "there is no cache: neither FLASHQLA_CACHE_DIR nor HOME is set", {}};
  return Cache(context.environment.cacheDir);
}

std::string sizeText(std::uint64_t bytes) { return fmt::format("{:.1f} kB", double(bytes) / 1e3); }

} // namespace

int cacheListVerb(Context &context) {
  const Expected<Cache> cache = openCache(context);
  if (!cache)
    return fail(context, cache.error());
  std::uint64_t total = 0;
  const std::vector<CacheEntry> entries = cache->list();
  for (const CacheEntry &entry : entries) {
    total += entry.bytes;
    context.out << fmt::format("{:%Y-%m-%d %H:%M} {:>10}  {}\n", fmt::localtime(entry.lastUse),
                               sizeText(entry.bytes), entry.name);
  }
  context.out << fmt::format("{}, {} in {}\n", counted(entries.size(), "kernel"), sizeText(total),
                             context.environment.cacheDir);
  return Done;
}

int cacheCollectVerb(Context &context, const CollectOptions &options) {
  const Expected<Cache> cache = openCache(context);
  if (!cache)
    return fail(context, cache.error());
  const std::vector<CacheEntry> removed =
      cache->collect(options.maxMegabytes * bytesPerMegabyte, options.maxDays * secondsPerDay,
                     std::int64_t(std::time(nullptr)));
  std::uint64_t total = 0;
  for (const CacheEntry &entry : removed) {
    total += entry.bytes;
    context.out << fmt::format("removed {}\n", entry.name);
  }
  context.out << fmt::format("{} removed, {}\n", counted(removed.size(), "kernel"),
                             sizeText(total));
  return Done;
}

int cacheVerifyVerb(Context &context) {
  const Expected<Cache> cache = openCache(context);
  if (!cache)
    return fail(context, cache.error());
  const std::vector<Cache::Problem> problems = cache->verify();
  for (const Cache::Problem &problem : problems)
    context.out << fmt::format("{}: {}\n", problem.entry.name, problem.error.text());
  const std::size_t entries = cache->list().size();
  if (problems.empty())
    context.out << fmt::format("{}, all as written\n", counted(entries, "kernel"));
  else
    context.out << fmt::format("damaged: {} of {}; the next compile replaces them\n",
                               problems.size(), counted(entries, "kernel"));
  return problems.empty() ? Done : Mistakes;
}

int cacheWhyVerb(Context &context, const KernelOptions &options) {
  const Expected<Cache> cache = openCache(context);
  if (!cache)
    return fail(context, cache.error());
  const Expected<driver::CompileRequest> request = makeRequest(context, options);
  if (!request)
    return fail(context, request.error());
  driver::Session session(context.environment);
  const Expected<std::optional<CacheKey>> key = session.cacheKey(*request);
  report(context, session.diagnostics());
  if (!key)
    return fail(context, key.error());
  if (!*key)
    return Mistakes;
  const Cache::Lookup found = cache->load(**key);
  if (found.bundle)
    context.out << fmt::format("the cache has it: {}\n", (*key)->directoryName());
  else if (!found.note.empty())
    context.out << found.note << "\n";
  else
    context.out << cache->why(**key);
  return Done;
}

} // namespace flashqla::cli
