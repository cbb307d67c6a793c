// Whole files in and out, with errors that name the path and the reason.
#pragma once

#include "flashqla/error.h"

#include <string>
#include <string_view>

namespace flashqla {

/// The bytes of a file. Error: file-read.
Expected<std::string> readFile(const std::string &path);

/// Writes a new file beside `path` and renames it, so that no reader ever sees a part. Error:
/// file-write.
Expected<void> writeFile(const std::string &path, std::string_view bytes);

} // namespace flashqla
