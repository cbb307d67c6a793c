// Running the command line in process, in a folder that is removed afterwards.
#pragma once

#include "tools/flashqlac/cli.h"

#include <filesystem>
#include <string>
#include <vector>

namespace flashqla::testing {

/// An empty folder that is the current one as long as the object lives.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

private:
  std::filesystem::path before, path;
};

struct CliSettings {
  /// NVRTC as in the tests' own environment; no cache, and a driver that is not there.
  CliSettings();
  Environment environment;
  bool terminal = false;
};

struct CliResult {
  int status = 0;
  std::string out, err;
  std::string all; ///< both, in the order they were written
};
CliResult runCli(const std::vector<std::string> &args, const std::string &input = "",
                 const CliSettings &settings = {});

} // namespace flashqla::testing
