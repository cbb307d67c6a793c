/// What things cost on the GPU, in cycles of a multiprocessor, for simulated timelines.
///
///     Costs costs;                                             // those of an H200
///     Expected<void> read = readCosts(R"({"copyLatency": 700})", costs);
///
/// A number stands for what one CTA sees that has its multiprocessor, and its share of the memory, to itself. The file of
/// `--costs` replaces some of them; docs/simulator.md ("Timeline") says how they were found.
#pragma once

#include "flashqla/error.h"

#include <string>
#include <string_view>

namespace flashqla::sim {

/// X(name, value, meaning). Cycles, where the meaning names no other unit.
#define FQ_COSTS(X)                                                                                                    \
  /* A role's own instructions */                                                                                      \
  X(start, 400, "from the first instruction of a CTA to its roles: barriers, tensor maps")                            \
  X(scalar, 4, "an integer instruction of a role that the next one needs")                                             \
  X(loop, 12, "an iteration of a role's loop, besides its statements")                                                 \
  X(issueInterval, 1.6, "between instructions of a warp that has its scheduler to itself")                             \
  X(indexWeight, 0.3, "part of a map's integer operations that is left when the program runs")                         \
  X(mapStart, 40, "latencies at the ends of a map")                                                                    \
  X(shuffle, 25, "a step of a reduction or scan across threads")                                                       \
  X(inverse, 2500, "the inverse of a 64 x 64 tile")                                                                    \
  X(specialRate, 16, "exponentials and the like a cycle, of a multiprocessor")                                         \
  X(sharedRate, 128, "bytes of shared memory a cycle, of a multiprocessor")                                            \
  X(assertion, 8, "an assert that holds")                                                                              \
  /* Synchronisation */                                                                                                \
  X(wait, 20, "a wait for what is complete")                                                                           \
  X(wake, 30, "from the completion of a generation to its waiter's next instruction")                                  \
  X(arrive, 10, "an arrival")                                                                                          \
  X(sync, 30, "a sync of whole warpgroups")                                                                            \
  X(warpSync, 4, "a sync of a warp")                                                                                   \
  X(fence, 20, "a proxy fence")                                                                                        \
  X(await, 10, "an await of what is complete")                                                                         \
  /* Bulk copies: boxes of tensor maps */                                                                              \
  X(copyIssue, 16, "the issue of a box")                                                                               \
  X(copyLatency, 700, "from the start of a load to its landing, besides its bytes")                                    \
  X(copyRate, 60, "bytes of loads a cycle")                                                                            \
  X(storeReadLatency, 300, "from the start of a store until its tile is read, besides its bytes")                      \
  X(storeLatency, 700, "from the start of a store to its completion, besides its bytes")                               \
  X(storeRate, 60, "bytes of stores a cycle")                                                                          \
  /* Copies and maps by threads */                                                                                     \
  X(globalLatency, 600, "of a load from global memory by a thread")                                                    \
  X(globalRate, 32, "bytes of global memory a cycle, of threads' loads and stores")                                    \
  /* Products */                                                                                                       \
  X(productIssue, 16, "the issue of a group, besides its instructions")                                                \
  X(productInstruction, 6, "the issue of one wgmma")                                                                   \
  X(tensorRate, 2048, "multiply-adds of 16-bit elements a cycle, of a multiprocessor")                                 \
  X(operandRate, 128, "bytes of operands from shared memory a cycle")                                                  \
  X(productLatency, 30, "from the end of a product in the tensor cores until it can be awaited")                       \
  /* The GPU */                                                                                                        \
  X(multiprocessors, 132, "multiprocessors; CTAs that share one are this far apart in the grid")

struct Costs {
#define FQ_DECLARE(name, value, meaning) double name = value; ///< meaning
  FQ_COSTS(FQ_DECLARE)
#undef FQ_DECLARE
};

/// Replaces the costs that a JSON object names. Errors: costs-syntax, costs-field (an unknown name, a value that is no
/// number or not above zero).
Expected<void> readCosts(std::string_view json, Costs &costs);

/// All of them as a JSON object that `readCosts` reads, one a line.
std::string writeCosts(const Costs &costs);

} // namespace flashqla::sim
