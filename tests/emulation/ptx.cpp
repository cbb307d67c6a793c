#include "tests/emulation/ptx.h"

#include "tests/emulation/instructions.h"
#include "tests/emulation/violation.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <map>

namespace flashqla::emulation {

std::uint64_t Frame::get(const PtxValue &value) const {
  switch (value.kind) {
  case PtxValue::Kind::Operand:
    return operands[value.index].value;
  case PtxValue::Kind::Register:
    return registers[value.index];
  case PtxValue::Kind::Immediate:
    return value.constant;
  case PtxValue::Kind::Sink:
  case PtxValue::Kind::Clock:
    return 0;
  }
  return 0;
}

float Frame::getFloat(const PtxValue &value) const { return std::bit_cast<float>(get32(value)); }

void Frame::set(const PtxValue &value, std::uint64_t bits) {
  if (value.kind == PtxValue::Kind::Register)
    registers[value.index] = bits;
  if (value.kind != PtxValue::Kind::Operand)
    return;
  const Operand &operand = operands[value.index];
  if (!operand.target)
    violate("an instruction writes operand %{}, which is an input", value.index);
  std::memcpy(operand.target, &bits, operand.bytes);
}

void Frame::setFloat(const PtxValue &value, float x) {
  set(value, std::bit_cast<std::uint32_t>(x));
}

namespace {

constexpr std::string_view blanks = " \t\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

class Decoder {
public:
  explicit Decoder(std::string_view text) : text(trimmed(text)) {}

  Statement decode() {
    if (text.starts_with('{')) { // a block with registers of its own
      text.remove_prefix(1);
      text.remove_suffix(1);
    }
    for (std::string_view rest = text; !trimmed(rest).empty();) {
      const std::size_t end = rest.find(';');
      if (end == rest.npos)
        violate("PTX without a semicolon at its end: `{}`", text);
      piece(trimmed(rest.substr(0, end)));
      rest.remove_prefix(end + 1);
    }
    for (auto [instruction, label] : branches) {
      if (!labels.contains(label))
        violate("PTX branches to `{}`, which is not there: `{}`", label, text);
      result.code[instruction].target = labels[label];
    }
    return std::move(result);
  }

private:
  void piece(std::string_view piece) {
    if (const std::size_t colon = piece.find(":\n"); colon != piece.npos) {
      labels[piece.substr(0, colon)] = result.code.size();
      piece = trimmed(piece.substr(colon + 1));
    }
    if (piece.starts_with(".reg"))
      declare(piece);
    else
      instruction(piece);
  }

  /// `.reg .b16 l, h`
  void declare(std::string_view piece) {
    const std::size_t type = piece.find('.', 1);
    const std::size_t names = std::min(piece.find(' ', type), piece.size());
    for (std::string_view rest = piece.substr(names); !rest.empty();) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      if (result.registers == Frame::maxRegisters)
        violate("PTX with too many registers of its own: `{}`", text);
      registers[trimmed(rest.substr(0, end))] = result.registers++;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  void instruction(std::string_view piece) {
    Instruction instruction;
    if (piece.starts_with('@')) {
      instruction.guarded = true;
      instruction.guardNegated = piece.starts_with("@!");
      const std::size_t end = std::min(piece.find(' '), piece.size());
      const std::size_t begin = instruction.guardNegated ? 2 : 1;
      instruction.guard = value(piece.substr(begin, end - begin));
      piece = trimmed(piece.substr(end));
    }
    const std::size_t end = std::min(piece.find(' '), piece.size());
    instruction.opcode = piece.substr(0, end);
    const std::string_view operands = trimmed(piece.substr(end));
    if (instruction.opcode == "bra")
      branches.emplace_back(result.code.size(), operands);
    else
      splitOperands(operands, instruction.operands);
    if (!findInstruction(instruction))
      violate("the emulation does not know `{}`", piece);
    result.code.push_back(std::move(instruction));
  }

  void splitOperands(std::string_view list, std::vector<PtxOperand> &operands) {
    int depth = 0;
    PtxOperand current;
    std::size_t begin = 0;
    auto endValue = [&](std::size_t end) {
      if (const std::string_view word = trimmed(list.substr(begin, end - begin)); !word.empty())
        current.push_back(value(word));
      begin = end + 1;
    };
    for (std::size_t at = 0; at < list.size(); ++at) {
      const char c = list[at];
      const int change = (c == '[' || c == '{') - (c == ']' || c == '}');
      depth += change;
      if (change || c == ',' || c == '|')
        endValue(at);
      if (c == ',' && depth == 0)
        operands.push_back(std::exchange(current, {}));
    }
    endValue(list.size());
    if (!current.empty())
      operands.push_back(std::move(current));
  }

  PtxValue value(std::string_view word) const {
    if (word == "_")
      return {};
    if (word == "%%clock")
      return {PtxValue::Kind::Clock, 0, 0};
    if (const auto found = registers.find(word); found != registers.end())
      return {PtxValue::Kind::Register, found->second, 0};
    const bool operand = word.starts_with('%'), hexadecimal = word.starts_with("0x");
    const std::size_t skip = hexadecimal ? 2 : operand ? 1 : 0;
    std::int64_t number = 0;
    const char *end = word.data() + word.size();
    const auto [stop, status] =
        std::from_chars(word.data() + skip, end, number, hexadecimal ? 16 : 10);
    if (status != std::errc{} || stop != end)
      violate("cannot read `{}` in the PTX `{}`", word, text);
    if (operand)
      return {PtxValue::Kind::Operand, static_cast<unsigned>(number), 0};
    return {PtxValue::Kind::Immediate, 0, static_cast<std::uint64_t>(number)};
  }

  std::string_view text;
  Statement result;
  std::map<std::string_view, unsigned> registers;
  std::map<std::string_view, std::size_t> labels;
  std::vector<std::pair<std::size_t, std::string_view>> branches; // instruction, label
};

} // namespace

Statement decodePtx(std::string_view text) { return Decoder(text).decode(); }

} // namespace flashqla::emulation
