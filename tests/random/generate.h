// Valid kernels of the tile language from a seed.
//
//     Program program = generate(7);
//     program.text();          // a `.tile` file with a `check` clause
//     program.features;        // what is in it
//
// The generator keeps to the rules of docs/language.md, so that `flashqlac check` has nothing to say about a program: one
// that is refused is a finding, in the generator or in the compiler.
#pragma once

#include "tests/random/program.h"

namespace flashqla::random {

Program generate(std::uint64_t seed);

} // namespace flashqla::random
