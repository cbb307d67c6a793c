// Splits a loop over the cores of the host.
//
//     parallelFor(rows, 16, [&](std::int64_t begin, std::int64_t end) {
//       for (std::int64_t row = begin; row < end; ++row)
//         …
//     });
#pragma once

#include <cstdint>
#include <functional>

namespace flashqla {

/// Calls `body(begin, end)` on disjoint ranges that cover 0 … count, from several threads, and
/// returns when all are done. Ranges have about `grain` iterations and are dealt to whichever
/// thread is free; a `count` of at most `grain` runs on the calling thread. `body` must not throw.
void parallelFor(std::int64_t count, std::int64_t grain,
                 const std::function<void(std::int64_t, std::int64_t)> &body);

} // namespace flashqla
