// flashqlac: the compiler of the tile language. What it can do is in tools/flashqlac/.
#include "tools/flashqlac/cli.h"

#include <iostream>
#include <unistd.h>

int main(int argc, char **argv) {
  using namespace flashqla;
  cli::Context context{Environment::read(), std::cin, std::cout, std::cerr};
  context.outIsTerminal = isatty(STDOUT_FILENO) != 0;
  context.errIsTerminal = isatty(STDERR_FILENO) != 0;
  return cli::run({argv + 1, argv + argc}, context);
}
