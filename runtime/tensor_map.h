// Tensor maps: what the TMA unit is told about a tensor, encoded by the driver from a recipe.
//
// `requestTensorMap` turns a recipe and a tensor into the inputs of cuTensorMapEncodeTiled,
// checking what the hardware asks for; `TensorMapCache` keeps the maps of the tensors seen last,
// compared by those very inputs, so that repeated launches encode nothing and a stale map cannot be
// used.
#pragma once

#include "flashqla/tensor.h"
#include "runtime/driver_api.h"
#include "runtime/manifest.h"

#include <cstdint>
#include <memory>

namespace flashqla {

/// The inputs of cuTensorMapEncodeTiled that change from tensor to tensor.
struct TensorMapRequest {
  void *address = nullptr;
  std::uint64_t extents[5] = {}; // elements, from the innermost
  std::uint64_t strides[4] = {}; // bytes, of dimension i + 1
  friend bool operator==(const TensorMapRequest &, const TensorMapRequest &) = default;
};

/// Rank of the map: two more than the recipe's dimensions when it is ragged.
unsigned tensorMapRank(const TensorMapRecipe &recipe);

/// `empty` stands for the memory of a tensor without elements: 16 readable bytes on the device,
/// aligned to
/// 16. Errors: launch-alignment, launch-stride, launch-shape (a ragged dimension above 2^30).
Expected<TensorMapRequest> requestTensorMap(const TensorMapRecipe &recipe, const std::string &name,
                                            const TensorRef &tensor, void *empty);

/// The maps of one recipe. Not synchronised.
class TensorMapCache {
public:
  explicit TensorMapCache(const TensorMapRecipe &recipe);

  /// The map, valid until the next call. Error: driver-call.
  Expected<const CUtensorMap *> get(const DriverApi &api, const TensorMapRequest &request);

private:
  // One kernel is called with the tensors of many layers in turn; a map takes well under a
  // microsecond.
  static constexpr unsigned capacity = 16;
  struct Entry {
    TensorMapRequest request;
    CUtensorMap map; // aligned to 64 bytes by its declaration
  };

  const TensorMapRecipe *recipe;
  std::unique_ptr<Entry[]> entries;
  unsigned used = 0;
  unsigned next = 0; // replaced next, in turn
};

} // namespace flashqla
