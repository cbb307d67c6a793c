// The words of CUDA that emitted text uses, for g++. Included in front of the text (host_text.h),
// never by the project.
#pragma once

#include "interface.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

/// Set by the emulator before it starts a kernel.
extern "C" flashqla::emulation::Interface *fq_machine;
flashqla::emulation::Interface *fq_machine = nullptr;

#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__
#define __align__(bytes)
#define threadIdx (fq_machine->threadIdx)
#define blockIdx (fq_machine->blockIdx)

/// Stands for shared memory where the text takes its address; the bytes are the emulator's.
unsigned char shared_memory[1];
inline std::size_t __cvta_generic_to_shared(const void *pointer) {
  return flashqla::emulation::sharedBase +
         static_cast<std::size_t>(static_cast<const unsigned char *>(pointer) - shared_memory);
}

inline void __syncthreads() { fq_machine->syncThreads(); }

namespace fq {

using flashqla::emulation::Operand;
using flashqla::emulation::Shuffle;
using flashqla::emulation::Statement;

template <class T> Operand in(T value) {
  Operand operand{0, nullptr, sizeof value};
  std::memcpy(&operand.value, &value, sizeof value);
  return operand;
}
template <class T> Operand out(T &target) { return {0, &target, sizeof target}; }
template <class T> Operand inOut(T &target) {
  Operand operand = in(target);
  operand.target = &target;
  return operand;
}

template <class To, class From> To bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

template <class T> T shuffle(Shuffle kind, T value, int lanes) {
  const std::uint64_t received = fq_machine->shuffle(kind, in(value).value, lanes);
  std::memcpy(&value, &received, sizeof value);
  return value;
}

/// Calls a kernel with parameters as the driver gets them: the address of each.
template <class... Args, std::size_t... I>
void call(void (*kernel)(Args...), void **parameters, std::index_sequence<I...>) {
  kernel(*static_cast<Args *>(parameters[I])...);
}
template <class... Args> void call(void (*kernel)(Args...), void **parameters) {
  call(kernel, parameters, std::index_sequence_for<Args...>());
}

} // namespace fq

/// An assembly statement: its PTX and its operands in order.
#define FQ_ASM(ptx, ...)                                                                           \
  {                                                                                                \
    static const fq::Statement *const statement = fq_machine->decode(ptx);                         \
    fq::Operand operands[] = {__VA_ARGS__ __VA_OPT__(, ) fq::Operand()};                           \
    fq_machine->execute(*statement, operands);                                                     \
  }
#define FQ_LINE(number) fq_machine->line = number;

inline float __uint_as_float(unsigned x) { return fq::bits<float>(x); }
inline unsigned __float_as_uint(float x) { return fq::bits<unsigned>(x); }
inline float __int_as_float(int x) { return fq::bits<float>(x); }

template <class T> T __shfl_xor_sync(unsigned, T value, int lanes) {
  return fq::shuffle(fq::Shuffle::Xor, value, lanes);
}
template <class T> T __shfl_up_sync(unsigned, T value, int lanes) {
  return fq::shuffle(fq::Shuffle::Up, value, lanes);
}
template <class T> T __shfl_down_sync(unsigned, T value, int lanes) {
  return fq::shuffle(fq::Shuffle::Down, value, lanes);
}

inline int min(int x, int y) { return y < x ? y : x; }
inline int max(int x, int y) { return x < y ? y : x; }
inline long long min(long long x, long long y) { return y < x ? y : x; }
inline long long max(long long x, long long y) { return x < y ? y : x; }
using std::abs;
