// The driver's functions over the host, for a device that is an executor: memory is that of the
// process, everything that was asked for is done when the call returns, events are times of the
// host's clock. Nothing can be captured in a graph. Modules and launches never reach the driver
// then.
#pragma once

#include "runtime/driver_api.h"

namespace flashqla {

DriverApi hostDriver();

} // namespace flashqla
