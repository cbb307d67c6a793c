// The timeline that a GPU records, of the launch that a simulated one describes.
#pragma once

#include "compiler/driver/timeline.h"
#include "tools/flashqlac/verbs.h"

namespace flashqla::cli {

struct Measurement {
  sim::Timeline timeline;
  double plain = 0, instrumented = 0; ///< microseconds of a launch without and with records
};

/// Compiles the kernel twice, gives it random tensors of the simulated launch's shapes, launches it
/// until the GPU is warm, and reads what one instrumented launch recorded. What the compiles have
/// to say is reported; with mistakes among it the result is empty. Errors: those of compiling, of
/// opening the GPU and of launching.
Expected<std::optional<Measurement>> measureTimeline(Context &context,
                                                     const driver::TimelineRequest &request,
                                                     const driver::TimelineResult &simulated);

/// "a launch takes 101.3 µs, 103.1 µs with records (1.8 % more)"
std::string overheadText(const Measurement &measured);

} // namespace flashqla::cli
