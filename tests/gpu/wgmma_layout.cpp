#include "tests/gpu/wgmma_layout.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <stdexcept>

namespace flashqla {

namespace {

constexpr int unread = -1;

std::string checksumOf(std::span<const std::int32_t> numbers) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const std::int32_t number : numbers)
    for (int byte = 0; byte < 4; ++byte)
      sum = (sum ^ (static_cast<std::uint32_t>(number) >> 8 * byte & 255)) * 0x100000001b3;
  return fmt::format("{:016x}", sum);
}

// Fragments.

Place plus(Place a, Place b) { return {a[0] + b[0], a[1] + b[1]}; }

/// Place of index (i, t) from those of single bits.
Place sumOfBits(std::span<const Place> thread, std::span<const Place> second, int t, int i) {
  Place place{};
  for (std::size_t bit = 0; bit < thread.size(); ++bit)
    if (t >> bit & 1)
      place = plus(place, thread[bit]);
  for (std::size_t bit = 0; bit < second.size(); ++bit)
    if (i >> bit & 1)
      place = plus(place, second[bit]);
  return place;
}

std::string printFragment(const char *name, const char *second, const std::vector<Place> &places) {
  std::vector<Place> thread, other;
  const int count = static_cast<int>(places.size()) / 128;
  for (int bit = 1; bit < 128; bit *= 2)
    thread.push_back(places[bit]);
  for (int bit = 1; bit < count; bit *= 2)
    other.push_back(places[128 * bit]);
  for (int i = 0; i < count; ++i)
    for (int t = 0; t < 128; ++t)
      if (places[128 * i + t] != sumOfBits(thread, other, t, i))
        throw std::runtime_error(
            fmt::format("{}: thread {}, {} {} is no sum over bits", name, t, second, i));
  std::string text = fmt::format("{}\n  thread", name);
  for (const Place &place : thread)
    text += fmt::format(" ({},{})", place[0], place[1]);
  text += fmt::format("\n  {}", second);
  for (const Place &place : other)
    text += fmt::format(" ({},{})", place[0], place[1]);
  return text + "\n";
}

std::vector<Place> readBits(std::istream &in, const std::string &word) {
  std::string line, first;
  std::getline(in, line);
  std::istringstream words(line);
  words >> first;
  if (first != word)
    throw std::runtime_error("expected `" + word + "`, found: " + line);
  std::vector<Place> bits;
  char punctuation = 0;
  for (Place place{}; words >> punctuation >> place[0] >> punctuation >> place[1] >> punctuation;)
    bits.push_back(place);
  return bits;
}

std::vector<Place> readFragment(std::istream &in, const std::string &second) {
  const std::vector<Place> thread = readBits(in, "thread"), other = readBits(in, second);
  std::vector<Place> places;
  for (int i = 0; i < 1 << other.size(); ++i)
    for (int t = 0; t < 128; ++t)
      places.push_back(sumOfBits(thread, other, t, i));
  return places;
}

// Tables of operands, as chunks of eight elements.

struct Chunks {
  int lines, perLine;
  std::vector<std::string> text; // by line

  const std::string &at(int line, int chunk) const { return text[line * perLine + chunk]; }
};

Chunks chunksOf(const OperandTable &table) {
  const OperandCase &wanted = table.wanted;
  Chunks chunks{wanted.kMajor ? wanted.extent : 16, wanted.kMajor ? 2 : wanted.extent / 8, {}};
  for (int line = 0; line < chunks.lines; ++line)
    for (int chunk = 0; chunk < chunks.perLine; ++chunk) {
      std::vector<std::int32_t> bytes;
      for (int i = 8 * chunk; i < 8 * chunk + 8; ++i)
        bytes.push_back(wanted.kMajor ? table.at(line, i) : table.at(i, line));
      bool consecutive = bytes[0] != unread;
      for (int i = 0; i < 8; ++i)
        consecutive &= bytes[i] == bytes[0] + 2 * i;
      chunks.text.push_back(consecutive ? fmt::format("{}", bytes[0])
                                        : fmt::format("{}", fmt::join(bytes, ",")));
    }
  return chunks;
}

/// The step by which the table repeats after `period` places in one direction; none if it does not.
int repeats(const Chunks &chunks, int period, bool lines) {
  const int count = lines ? chunks.lines : chunks.perLine;
  if (count <= period || std::ranges::any_of(chunks.text, [](const std::string &text) {
        return text.find(',') != text.npos;
      }))
    return 0;
  const auto number = [&](int line, int chunk) { return std::stoi(chunks.at(line, chunk)); };
  const int step = lines ? number(period, 0) - number(0, 0) : number(0, period) - number(0, 0);
  for (int line = lines ? period : 0; line < chunks.lines; ++line)
    for (int chunk = lines ? 0 : period; chunk < chunks.perLine; ++chunk)
      if (number(line, chunk) !=
          number(line - (lines ? period : 0), chunk - (lines ? 0 : period)) + step)
        return 0;
  return step;
}

std::string printOperand(const OperandTable &table) {
  const OperandCase &w = table.wanted;
  std::string text =
      fmt::format("operand {} {} {} extent {} start {} leading {} stride {} descriptor {:016x}\n ",
                  w.isA ? "a" : "b", w.kMajor ? "k" : "mn", w.swizzle, w.extent, w.start, w.leading,
                  w.stride, table.descriptor);
  const Chunks chunks = chunksOf(table);
  const int panel = w.swizzle / 16, lineStep = repeats(chunks, 8, true),
            chunkStep = w.kMajor ? 0 : repeats(chunks, panel, false);
  for (int line = 0; line < (lineStep ? 8 : chunks.lines); ++line) {
    text += line ? " |" : "";
    for (int chunk = 0; chunk < (chunkStep ? panel : chunks.perLine); ++chunk)
      text += " " + chunks.at(line, chunk);
  }
  if (lineStep)
    text += fmt::format(" every 8 lines +{}", lineStep);
  if (chunkStep)
    text += fmt::format(" every {} chunks +{}", panel, chunkStep);
  return text + "\n";
}

std::array<int, 8> readChunk(const std::string &word) {
  std::array<int, 8> bytes{};
  std::istringstream in(word);
  char comma = 0;
  in >> bytes[0];
  for (int i = 1; i < 8; ++i)
    if (!(in >> comma >> bytes[i]))
      bytes[i] = bytes[i - 1] + 2;
  return bytes;
}

void readBytes(std::istream &in, OperandTable &table) {
  const OperandCase &wanted = table.wanted;
  std::string line, word, direction;
  std::getline(in, line);
  std::istringstream words(line);
  std::vector<std::vector<std::array<int, 8>>> lines(1);
  int period = 0, step = 0, linePeriod = 0, lineStep = 0, chunkPeriod = 0, chunkStep = 0;
  while (words >> word) {
    if (word == "|") {
      lines.emplace_back();
    } else if (word == "every") {
      words >> period >> direction >> step;
      (direction == "lines" ? linePeriod : chunkPeriod) = period;
      (direction == "lines" ? lineStep : chunkStep) = step;
    } else {
      lines.back().push_back(readChunk(word));
    }
  }
  table.bytes.resize(static_cast<std::size_t>(wanted.extent) * 16);
  for (int element = 0; element < wanted.extent; ++element)
    for (int k = 0; k < 16; ++k) {
      const int row = wanted.kMajor ? element : k, column = wanted.kMajor ? k : element,
                chunk = column / 8;
      const auto &chunks = lines.at(linePeriod ? row % linePeriod : row);
      int byte = chunks.at(chunkPeriod ? chunk % chunkPeriod : chunk)[column % 8];
      byte += (linePeriod ? row / linePeriod * lineStep : 0) +
              (chunkPeriod ? chunk / chunkPeriod * chunkStep : 0);
      table.bytes[element * 16 + k] = byte;
    }
}

OperandTable readOperand(std::istream &words, std::istream &in) {
  OperandTable table;
  OperandCase &wanted = table.wanted;
  std::string operand, major, word;
  words >> operand >> major >> wanted.swizzle >> word >> wanted.extent >> word >> wanted.start >>
      word >> wanted.leading >> word >> wanted.stride >> word >> std::hex >> table.descriptor;
  wanted.isA = operand == "a";
  wanted.kMajor = major == "k";
  readBytes(in, table);
  return table;
}

} // namespace

std::string checksum(std::span<const std::int32_t> numbers) { return checksumOf(numbers); }

std::string checksum(std::span<const Place> places) {
  std::vector<std::int32_t> numbers;
  for (const Place &place : places)
    numbers.insert(numbers.end(), place.begin(), place.end());
  return checksumOf(numbers);
}

const OperandTable *WgmmaLayouts::find(const OperandCase &wanted) const {
  auto found = std::ranges::find(operands, wanted, &OperandTable::wanted);
  return found == operands.end() ? nullptr : &*found;
}

std::string printLayouts(const WgmmaLayouts &layouts) {
  std::string text = printFragment("accumulator", "register", layouts.accumulator) +
                     printFragment("operand-a", "element", layouts.operandA);
  for (const FormSums &form : layouts.forms)
    text += fmt::format("form {}{} a {} b {}\n", form.name, form.d.empty() ? "" : " d " + form.d,
                        form.a, form.b);
  for (const OperandTable &table : layouts.operands)
    text += printOperand(table);
  return text;
}

WgmmaLayouts readLayouts(const std::string &text) {
  WgmmaLayouts layouts;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "accumulator") {
      layouts.accumulator = readFragment(in, "register");
    } else if (first == "operand-a") {
      layouts.operandA = readFragment(in, "element");
    } else if (first == "form") {
      FormSums &form = layouts.forms.emplace_back();
      words >> form.name;
      for (std::string which, sum; words >> which >> sum;)
        (which == "d" ? form.d : which == "a" ? form.a : form.b) = sum;
    } else if (first == "operand") {
      layouts.operands.push_back(readOperand(words, in));
    } else {
      throw std::runtime_error("not understood: " + line);
    }
  }
  return layouts;
}

} // namespace flashqla
