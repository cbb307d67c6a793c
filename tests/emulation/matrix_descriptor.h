// Where the elements of a product's operand lie, by its matrix descriptor (PTX ISA, "Asynchronous
// warpgroup level matrix shared memory layout" and "Matrix descriptor").
//
// An operand has 16 elements along k; `mn` counts along the other dimension, m of A and n of B. It
// is stored K-major (k contiguous) or MN-major. Offsets are byte offsets between core matrices or,
// with a swizzle over S bytes, between atoms of eight rows of S bytes:
//
//   K-major, swizzled    mn/8 · stride;                          rows of S bytes, k along a row
//   K-major, plain       mn/8 · stride + k/8 · leading;          rows of 16 bytes
//   MN-major, swizzled   mn/(S/2) · leading + k/8 · stride;      rows of S bytes, mn along a row
//   MN-major, plain      mn/8 · stride + k/8 · leading;          rows of 16 bytes
//
// The swizzle exchanges bits of the absolute address, so that a start inside an atom works.
#pragma once

#include <cstdint>

namespace flashqla::emulation {

struct MatrixDescriptor {
  std::uint32_t start = 0; // bytes, in the shared window
  std::uint32_t leading = 0, stride = 0;
  std::uint32_t swizzle = 0; // bytes: 0, 32, 64, 128

  /// Throws a Violation for a base offset, which the emulation does not know.
  static MatrixDescriptor decode(std::uint64_t bits);

  /// The address of a 16-bit element. Eight elements from a multiple of eight lie side by side,
  /// along mn if MN-major, else along k.
  std::uint32_t address(unsigned mn, unsigned k, bool mnMajor) const;
};

} // namespace flashqla::emulation
