// Warps that only copy: loaders fill channels, a store role empties them.
#pragma once

#include "tests/random/kernel.h"

namespace flashqla::random {

/// The channels whose producer has this name.
Node loaderRole(Kernel &kernel, const std::string &name);
/// The channels whose consumer has this name.
Node storeRole(Kernel &kernel, const std::string &name);

} // namespace flashqla::random
