// The example programs of the library.
//
// `example_jit` compiles a kernel of its own from a string while it runs, and the GDN forward.
// `example_aot` links no compiler: it loads the GDN forward from bundles that `flashqlac compile`
// made.
#pragma once

#include "flashqla/runtime.h"
#include "kernels/gdn/gdn.h"

namespace flashqla::example {

/// Packed sequences, 2 q/k heads and 4 value heads of 128.
gdn::Config forwardConfig();

/// y = 3 x by a kernel that the provider compiles from text; prints the error against f64.
Expected<void> runScale(const Device &device, KernelProvider &provider);
/// The GDN forward on two sequences; prints the errors against the f64 recurrence.
Expected<void> runForward(const Device &device, KernelProvider &provider);

/// The exit status; an error is printed.
int report(const Expected<void> &done);

} // namespace flashqla::example
