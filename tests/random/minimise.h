// Makes a program that fails smaller, as long as it fails in the same way.
//
//     Program small = minimise(program, [&](const Program &candidate) { return judge(candidate).sameAs(verdict); });
#pragma once

#include "tests/random/program.h"

#include <functional>

namespace flashqla::random {

/// Takes out roles, channels, statements, blocks around statements, cases and parts of expressions. `fails` is asked at most
/// `limit` times.
Program minimise(const Program &program, const std::function<bool(const Program &)> &fails, int limit = 2000);

/// Takes out what nothing mentions: arguments, dims, tiles, functions, barriers without roles.
void tidy(Program &program);

} // namespace flashqla::random
