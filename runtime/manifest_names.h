// The spellings of the manifest's enumerations, shared by its reader and its writer.
#pragma once

#include "runtime/manifest.h"

#include <optional>
#include <string_view>

namespace flashqla::detail {

template <class E> struct EnumName {
  E value;
  std::string_view name;
};

inline constexpr EnumName<Access> accessNames[] = {
    {Access::In, "in"}, {Access::Out, "out"}, {Access::InOut, "inout"}, {Access::Scalar, "scalar"}};
inline constexpr EnumName<Layout> layoutNames[] = {{Layout::Packed, "packed"},
                                                   {Layout::Strided, "strided"}};
inline constexpr EnumName<CudaParam::Kind> cudaParamNames[] = {
    {CudaParam::Kind::TensorMap, "tensorMap"}, {CudaParam::Kind::Pointer, "pointer"},
    {CudaParam::Kind::Stride, "stride"},       {CudaParam::Kind::Dim, "dim"},
    {CudaParam::Kind::Scalar, "scalar"},       {CudaParam::Kind::AssertBuffer, "assertBuffer"},
    {CudaParam::Kind::Timeline, "timeline"}};
inline constexpr EnumName<Swizzle> swizzleNames[] = {
    {Swizzle::None, "none"}, {Swizzle::B32, "32"}, {Swizzle::B64, "64"}, {Swizzle::B128, "128"}};
inline constexpr EnumName<L2Promotion> promotionNames[] = {{L2Promotion::None, "none"},
                                                           {L2Promotion::B64, "64"},
                                                           {L2Promotion::B128, "128"},
                                                           {L2Promotion::B256, "256"}};

template <class E, std::size_t N>
constexpr std::string_view nameOf(const EnumName<E> (&names)[N], E value) {
  for (const EnumName<E> &entry : names)
    if (entry.value == value)
      return entry.name;
  return "?";
}

template <class E, std::size_t N>
constexpr std::optional<E> valueOf(const EnumName<E> (&names)[N], std::string_view name) {
  for (const EnumName<E> &entry : names)
    if (entry.name == name)
      return entry.value;
  return std::nullopt;
}

} // namespace flashqla::detail
