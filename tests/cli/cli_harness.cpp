#include "tests/cli/cli_harness.h"

#include <cstdlib>
#include <ostream>
#include <sstream>
#include <streambuf>

namespace flashqla::testing {

namespace fs = std::filesystem;

namespace {

/// Appends what is written to two strings.
class Tee : public std::streambuf {
public:
  Tee(std::string &own, std::string &shared) : own(own), shared(shared) {}

private:
  int_type overflow(int_type character) override {
    own += traits_type::to_char_type(character);
    shared += traits_type::to_char_type(character);
    return character;
  }

  std::string &own, &shared;
};

} // namespace

TemporaryFolder::TemporaryFolder() : before(fs::current_path()) {
  std::string name = (fs::temp_directory_path() / "flashqlac.XXXXXX").string();
  path = ::mkdtemp(name.data());
  fs::current_path(path);
}

TemporaryFolder::~TemporaryFolder() {
  fs::current_path(before);
  fs::remove_all(path);
}

CliSettings::CliSettings() {
  environment.libnvrtc = Environment::read().libnvrtc;
  environment.libcuda = "/nowhere/libcuda.so.1";
}

CliResult runCli(const std::vector<std::string> &args, const std::string &input,
                 const CliSettings &settings) {
  CliResult result;
  std::istringstream in(input);
  Tee outBuffer(result.out, result.all), errBuffer(result.err, result.all);
  std::ostream out(&outBuffer), err(&errBuffer);
  cli::Context context{settings.environment, in, out, err};
  context.outIsTerminal = context.errIsTerminal = settings.terminal;
  result.status = cli::run(args, context);
  return result;
}

} // namespace flashqla::testing
