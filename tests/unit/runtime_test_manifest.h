// Manifests that the runtime's tests share.
#pragma once

#include "runtime/manifest.h"

namespace flashqla::testing {

inline DimExpr expr(std::string_view text) { return *DimExpr::parse(text); }

/// gemm_nt of the language's tutorial: three packed tensors, two loads and a store by TMA.
inline Manifest gemmManifest() {
  Manifest manifest;
  manifest.kernel = "gemm_nt";
  manifest.file = "gemm_nt.tile";
  manifest.arch = "sm_90a";
  manifest.entry = "gemm_nt";
  manifest.compiler = "0.1.0";
  manifest.params = {{"BM", "128"}, {"BN", "128"}, {"BK", "64"}, {"STAGES", "4"}};
  manifest.dims = {{"M", {}}, {"N", {}}, {"K", {}}};
  manifest.arguments = {
      {"a", Access::In, DType::BF16, {expr("M"), expr("K")}, Layout::Packed, 16},
      {"b", Access::In, DType::BF16, {expr("N"), expr("K")}, Layout::Packed, 16},
      {"c", Access::Out, DType::BF16, {expr("M"), expr("N")}, Layout::Packed, 16}};
  for (int argument = 0; argument < 3; ++argument) {
    TensorMapRecipe recipe;
    recipe.argument = argument;
    recipe.dimensions = {{1, 1, 0, 64}, {0, 1, 0, 128}};
    recipe.swizzle = Swizzle::B128;
    manifest.tensorMaps.push_back(recipe);
    manifest.cudaParams.push_back({CudaParam::Kind::TensorMap, argument, 0});
  }
  for (int dim = 0; dim < 3; ++dim)
    manifest.cudaParams.push_back({CudaParam::Kind::Dim, dim, 0});
  manifest.where = {{expr("K % 8 == 0"), "K % 8 == 0", "TMA wants 16-byte row strides"},
                    {expr("N % 8 == 0"), "N % 8 == 0", "TMA wants 16-byte row strides"}};
  manifest.grid = {{"n", expr("ceildiv(N, 128)")}, {"m", expr("ceildiv(M, 128)")}};
  manifest.blockThreads = 384;
  manifest.dynamicSharedBytes = 164 * 1024;
  manifest.resources = {168, 0, 0, 0, {}};
  return manifest;
}

/// A packed-sequence kernel with everything else that a manifest can say: strides, scalars, `NS +
/// 1`, static dims, a dim of the call, a ragged map, a constant map dimension, asserts.
inline Manifest raggedManifest() {
  Manifest manifest;
  manifest.kernel = "chain";
  manifest.file = "chain.tile";
  manifest.arch = "sm_90a";
  manifest.entry = "chain";
  manifest.dims = {{"T", {}}, {"NS", {}}, {"SLOTS", {}}, {"H", 4}, {"D", 128}};
  manifest.arguments = {
      {"q", Access::In, DType::BF16, {expr("T"), expr("H"), expr("D")}, Layout::Strided, 16},
      {"g", Access::In, DType::F32, {expr("T"), expr("H")}, Layout::Strided, 0},
      {"seq", Access::In, DType::I32, {expr("NS + 1")}, Layout::Packed, 0},
      {"o", Access::Out, DType::BF16, {expr("T"), expr("H"), expr("D")}, Layout::Packed, 16},
      {"scale", Access::Scalar, DType::F32, {}, Layout::Packed, 0},
      {"first", Access::Scalar, DType::I32, {}, Layout::Packed, 0},
      {"flag", Access::Scalar, DType::Bool, {}, Layout::Packed, 0}};
  TensorMapRecipe ragged;
  ragged.argument = 0;
  ragged.dimensions = {{2, 1, 0, 64}, {1, 1, 0, 1}, {0, 1, 0, 64}};
  ragged.ragged = true;
  ragged.swizzle = Swizzle::B128;
  TensorMapRecipe plain;
  plain.argument = 3;
  plain.dimensions = {{2, 1, 0, 64}, {-1, 3, 1024, 2}, {0, 1, 0, 32}};
  plain.promotion = L2Promotion::None;
  plain.zeroFill = false;
  manifest.tensorMaps = {ragged, plain};
  using Kind = CudaParam::Kind;
  manifest.cudaParams = {{Kind::TensorMap, 0, 0}, {Kind::TensorMap, 1, 0},   {Kind::Pointer, 1, 0},
                         {Kind::Stride, 1, 0},    {Kind::Pointer, 2, 0},     {Kind::Dim, 1, 0},
                         {Kind::Dim, 2, 0},       {Kind::Scalar, 4, 0},      {Kind::Scalar, 5, 0},
                         {Kind::Scalar, 6, 0},    {Kind::AssertBuffer, 0, 0}};
  manifest.where = {{expr("SLOTS == T / 64 + NS + 1"), "SLOTS == T / 64 + NS + 1", ""},
                    {expr("flag ? first < 10 : true"), "flag ? first < 10 : true", ""}};
  manifest.grid = {{"h", expr("H")}, {"s", expr("NS")}};
  manifest.blockThreads = 128;
  manifest.dynamicSharedBytes = 1024;
  manifest.resources = {128, 8, 16, 32, {"C7517: potential performance loss"}};
  manifest.asserts = {{12, "t < T"}, {20, "s >= 0"}};
  manifest.compileMs = 870.5;
  return manifest;
}

/// gemm_nt that records a timeline of two roles, of at most three records each.
inline Manifest instrumentedManifest() {
  Manifest manifest = gemmManifest();
  manifest.timeline.emplace();
  manifest.timeline->roles = {"load", "mma"};
  manifest.timeline->records = 3;
  manifest.timeline->steps = {{"load", "copy", 31, "copy.tma a_s[k] <- a"},
                              {"mma", "wait", 41, "wait full[k]"}};
  manifest.cudaParams.push_back({CudaParam::Kind::Timeline, 0, 0});
  return manifest;
}

} // namespace flashqla::testing
