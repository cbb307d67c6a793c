/// What things cost on the GPU, in cycles of a multiprocessor, for simulated timelines.
///
///     Costs costs;                                             // those of an H200
///     Expected<void> read = readCosts(R"({"copyLatency": 700})", costs);
///
/// Most were measured one by one (docs/hopper.md, "Costs"); the rates of the GPU, the inverse, the queue of products and
/// what issues cost were fitted to measured timelines (docs/simulator.md, "Timeline"). A file of `--costs` replaces some.
#pragma once

#include "flashqla/error.h"

#include <string>
#include <string_view>

namespace flashqla::sim {

/// X(name, value, meaning). Cycles, where the meaning names no other unit.
#define FQ_COSTS(X)                                                                                                    \
  /* A role's own instructions */                                                                                      \
  X(start, 500, "from the first instruction of a CTA to its roles: barriers, tensor maps")                             \
  X(scalar, 4, "an integer instruction of a role that the next one needs")                                             \
  X(loop, 12, "an iteration of a role's loop, besides its statements")                                                 \
  X(instruction, 1.28, "an instruction of a warp, of those that share a scheduler one after the other")                \
  X(indexWeight, 0.3, "part of a map's integer operations that is left when the program runs")                         \
  X(mapStart, 10, "latencies at the ends of a map")                                                                    \
  X(shuffle, 24, "a step of a reduction or scan across threads")                                                       \
  X(inverse, 1400, "the inverse of a 64 x 64 tile")                                                                    \
  X(specialRate, 16, "exponentials and the like a cycle, of a multiprocessor")                                         \
  X(sharedRate, 128, "bytes of shared memory a cycle, of a multiprocessor")                                            \
  X(assertion, 8, "an assert that holds")                                                                              \
  /* Synchronisation */                                                                                                \
  X(wait, 48, "a wait for what is complete")                                                                           \
  X(wake, 62, "from the completion of a generation to its waiter's next instruction")                                  \
  X(arrive, 10, "an arrival")                                                                                          \
  X(sync, 25, "a sync of warpgroups, besides its warps")                                                               \
  X(syncWarp, 2, "each warp of a sync")                                                                                \
  X(warpSync, 4, "a sync of one warp")                                                                                 \
  X(fence, 20, "a proxy fence")                                                                                        \
  X(await, 10, "an await of what is complete")                                                                         \
  /* Bulk copies: boxes of tensor maps */                                                                              \
  X(copyIssue, 30, "the issue of a box")                                                                               \
  X(copyLatency, 230, "from the start of a load, from L2, to its landing, besides its bytes")                          \
  X(copyRate, 106, "bytes of loads a cycle, of a multiprocessor")                                                      \
  X(copyRateAll, 7900, "bytes of loads a cycle, of the GPU")                                                           \
  X(storeReadLatency, 40, "from the start of a store until its tile is read, besides its bytes")                       \
  X(storeLatency, 46, "from the start of a store to its completion, besides its bytes")                                \
  X(storeRate, 32, "bytes of stores a cycle, of a multiprocessor")                                                     \
  X(storeRateAll, 4200, "bytes of stores a cycle, of the GPU")                                                         \
  /* Copies and maps by threads */                                                                                     \
  X(globalLatency, 600, "of a load from global memory by a thread")                                                    \
  X(globalRate, 64, "bytes of global memory a cycle, of threads' loads and stores, of a multiprocessor")               \
  X(globalRateAll, 2200, "the same, of the GPU")                                                                       \
  /* Products */                                                                                                       \
  X(productIssue, 15, "the issue of a group, besides its instructions")                                                \
  X(productInstruction, 6, "the issue of one wgmma")                                                                   \
  X(productQueue, 2, "instructions of a warpgroup that wait in the tensor cores' queue")                               \
  X(tensorRate, 2048, "multiply-adds of 16-bit elements a cycle, of a multiprocessor")                                 \
  X(operandRate, 128, "bytes of operands from shared memory a cycle; from there alone, half the time")                 \
  X(registerOperand, 12, "an operand in registers, besides the other one's bytes")                                     \
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
