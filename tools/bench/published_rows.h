// The published times of other libraries on an H200 (kernels/gdn/published_h200.csv).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flashqla::bench {

struct PublishedRow {
  std::string model, config;
  std::string lengthsText; // "28672+4096"
  std::vector<std::int64_t> lengths;
  int headsQk = 0, headsV = 0;
  double flashQlaMs = 0, flashInferMs = 0, flaMs = 0; // 0: not published
};

/// The text of the file.
std::string_view publishedCsv();
/// The rows of the forward pass, in the order of the file. A malformed line is an exception.
std::vector<PublishedRow> publishedForwardRows();

} // namespace flashqla::bench
