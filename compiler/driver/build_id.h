/// Which build of the compiler this is, for keys of the cache.
#pragma once

#include <string>

namespace flashqla::driver {

/// Version and the linker's build id of the program that holds the compiler: any change of its code changes it. Without
/// a build id, the version alone.
std::string buildId();

} // namespace flashqla::driver
