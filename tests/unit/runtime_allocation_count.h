// Counts the calls of `operator new` in a test binary.
#pragma once

namespace flashqla::testing {

/// Calls of `operator new` since the program began.
long allocationCount();

} // namespace flashqla::testing
