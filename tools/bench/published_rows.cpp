#include "tools/bench/published_rows.h"

#include <sstream>
#include <stdexcept>

namespace flashqla::bench {

namespace {

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

double optionalMs(const std::string &text) { return text.empty() ? 0 : std::stod(text); }

} // namespace

std::vector<PublishedRow> publishedForwardRows() {
  // pass,model,config,seqlens,h_qk,h_v,flash_qla_ms,flashinfer_ms,fla_ms
  std::vector<PublishedRow> rows;
  std::istringstream lines{std::string(publishedCsv())};
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = split(line, ',');
    if (fields.front() != "fwd")
      continue;
    if (fields.size() != 9)
      throw std::runtime_error("published_h200.csv: not nine fields: " + line);
    PublishedRow &row = rows.emplace_back();
    row.model = fields[1];
    row.config = fields[2];
    row.lengthsText = fields[3];
    for (const std::string &length : split(fields[3], '+'))
      row.lengths.push_back(std::stoll(length));
    row.headsQk = std::stoi(fields[4]);
    row.headsV = std::stoi(fields[5]);
    row.flashQlaMs = optionalMs(fields[6]);
    row.flashInferMs = optionalMs(fields[7]);
    row.flaMs = optionalMs(fields[8]);
  }
  return rows;
}

} // namespace flashqla::bench
