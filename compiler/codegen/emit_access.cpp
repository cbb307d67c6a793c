/// Addresses, and elements of tensors, shared tiles and fragments.
#include "compiler/codegen/emitter.h"
#include "compiler/codegen/operand.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::codegen {

std::string KernelEmitter::affineText(const Affine &affine, const std::function<std::string(Value)> &term) {
  std::string text;
  for (auto [value, coefficient] : affine.terms) {
    std::string factor = term(value);
    bool atom = factor.find(' ') == std::string::npos;
    if (std::abs(coefficient) != 1)
      factor = fmt::format("{} * {}", std::abs(coefficient), atom ? factor : "(" + factor + ")");
    else if (coefficient < 0 && !atom)
      factor = "(" + factor + ")";
    if (text.empty())
      text = coefficient < 0 ? "-" + factor : factor;
    else
      text += (coefficient < 0 ? " - " : " + ") + factor;
  }
  if (text.empty())
    return fmt::format("{}", affine.constant);
  if (affine.constant != 0)
    text += fmt::format(" {} {}", affine.constant < 0 ? "-" : "+", std::abs(affine.constant));
  return text;
}

std::vector<Affine> KernelEmitter::baseIndices(Value addressable, ArrayRef<Affine> indices) {
  auto view = addressable.getDefiningOp<ViewOp>();
  if (!view)
    return {indices.begin(), indices.end()};
  std::vector<Affine> result;
  size_t next = 0;
  for (auto [offset, size] : llvm::zip_equal(view.getOffsets(), view.getSizes())) {
    Affine index = affineOf(offset);
    if (size != 0)
      index = index + indices[next++];
    result.push_back(index);
  }
  return baseIndices(view.getBase(), result);
}

std::string KernelEmitter::slotAddress(Value addressable) {
  Operation *op = addressable.getDefiningOp();
  if (auto view = dyn_cast<ViewOp>(op))
    return slotAddress(view.getBase());
  if (auto slot = dyn_cast<SlotOp>(op)) {
    auto shared = cast<SharedOp>(declaration(slot.getRing()));
    int64_t bytes = layoutOf(shared).slotBytes();
    Code index = scalar(slot.getSlot());
    if (index.text == "0")
      return slotAddress(slot.getRing());
    return fmt::format("{} + {} * {}", slotAddress(slot.getRing()), bytes, index.in(Code::multiply + 1));
  }
  return fmt::format("shared + {}_at", names[op->getResult(0)]);
}

std::string KernelEmitter::sharedAddress(Value addressable, ArrayRef<std::string> indices) {
  auto shared = cast<SharedOp>(declaration(addressable));
  SharedLayout layout = layoutOf(shared);
  ArrayRef<int64_t> shape = shared.getType().getShape();
  auto group = [](const std::string &text) {
    return text.find_first_of(" ?") == std::string::npos ? text : "(" + text + ")";
  };
  std::string row;
  for (size_t i = 0; i + 1 < indices.size(); ++i) {
    if (!row.empty())
      row = fmt::format("{} * {} + ", group(row), shape[i]);
    row += i ? group(indices[i]) : indices[i];
  }
  const std::string &column = indices.back();
  int64_t bytes = layout.elementBytes();
  std::string address = slotAddress(addressable);
  if (!layout.swizzleBytes()) {
    if (!row.empty() && row != "0")
      address += fmt::format(" + {} * {}", layout.rowBytes(), group(row));
    return address + (column == "0" ? "" : fmt::format(" + {} * {}", bytes, group(column)));
  }
  std::string inPanel = column;
  if (layout.panels() > 1) {
    address += fmt::format(" + {} / {} * {}", group(column), layout.panelColumns(), layout.panelBytes());
    inPanel = fmt::format("{} % {}", group(column), layout.panelColumns());
  }
  return fmt::format("{} + swizzle{}({}, {} * {})", address, layout.swizzleBytes(), row, bytes, group(inPanel));
}

std::string KernelEmitter::sharedAddressOfWindow(Value addressable) {
  // Rows at multiples of 8 and whole chunks keep the swizzle: the address bits that it reads are those of the row.
  auto shared = cast<SharedOp>(declaration(addressable));
  SharedLayout layout = layoutOf(shared);
  std::vector<Affine> zero(rank(addressable));
  std::vector<Affine> indices = baseIndices(addressable, zero);
  std::string address = slotAddress(addressable);
  auto term = [&](Value value) { return scalar(value).in(Code::multiply + 1); };
  Affine row;
  ArrayRef<int64_t> shape = shared.getType().getShape();
  for (size_t i = 0; i + 1 < indices.size(); ++i)
    row = row * shape[i] + indices[i];
  Affine column = indices.back();
  Affine bytes = row * layout.rowBytes();
  if (column.isConstant())
    bytes.constant += windowColumnByte(layout, column.constant);
  else // a whole number of panels, which the window rules see to
    bytes = bytes + column * (layout.panelBytes() / layout.panelColumns());
  if (bytes.isConstant() && bytes.constant == 0)
    return address;
  return address + " + " + affineText(bytes, term);
}

std::string KernelEmitter::argumentLayout(ArgumentOp argument) {
  for (Attribute entry : kernel.getArguments()) {
    auto dictionary = cast<DictionaryAttr>(entry);
    if (dictionary.getAs<StringAttr>("name").getValue() == argument.getName())
      return dictionary.getAs<StringAttr>("layout").getValue().str();
  }
  llvm_unreachable("every tensor is an argument");
}

std::string KernelEmitter::globalOffset(ArgumentOp argument, ArrayRef<std::string> indices) {
  std::string name = names[argument.getResult()], text;
  bool strided = argumentLayout(argument) != "packed";
  auto group = [](const std::string &index) {
    return index.find_first_of(" ?") == std::string::npos ? index : "(" + index + ")";
  };
  for (size_t i = 0; i < indices.size(); ++i) {
    bool last = i + 1 == indices.size();
    if (strided) {
      if (indices[i] == "0")
        continue;
      std::string stride = fmt::format("{}_stride{}", name, i);
      text += (text.empty() ? "" : " + ") + (last ? group(indices[i]) : fmt::format("{} * {}", group(indices[i]), stride));
    } else if (i == 0) {
      text = last ? indices[i] : fmt::format("(i64){}", group(indices[i]));
    } else {
      text = fmt::format("{} * {} + {}", i > 1 ? "(" + text + ")" : text, scalar(argument.getExtents()[i]).in(Code::unary),
                         group(indices[i]));
    }
  }
  return text.empty() ? "0" : text;
}

std::string KernelEmitter::globalElement(ArgumentOp argument, ArrayRef<std::string> indices) {
  return fmt::format("{}[{}]", names[argument.getResult()], globalOffset(argument, indices));
}

std::string KernelEmitter::loadShared(Type element, const std::string &address) {
  if (element.isF32())
    return fmt::format("load_f32({})", address);
  if (element.isBF16())
    return fmt::format("from_bf16(load_u16({}))", address);
  if (element.isF16())
    return fmt::format("from_f16(load_u16({}))", address);
  return element.isInteger(64) ? fmt::format("load_i64({})", address) : fmt::format("(int)load_u32({})", address);
}

std::string KernelEmitter::storeShared(Type element, const std::string &address, const std::string &value) {
  if (element.isF32())
    return fmt::format("store_f32({}, {});", address, value);
  if (element.isBF16())
    return fmt::format("store_u16({}, to_bf16({}));", address, value);
  if (element.isF16())
    return fmt::format("store_u16({}, to_f16({}));", address, value);
  return element.isInteger(64) ? fmt::format("store_i64({}, {});", address, value)
                               : fmt::format("store_u32({}, (u32)({}));", address, value);
}

std::string KernelEmitter::loadGlobal(Type element, const std::string &lvalue) {
  if (element.isBF16())
    return fmt::format("from_bf16({})", lvalue);
  if (element.isF16())
    return fmt::format("from_f16({})", lvalue);
  return lvalue;
}

std::string KernelEmitter::storeGlobal(Type element, const std::string &lvalue, const std::string &value) {
  if (element.isBF16())
    return fmt::format("{} = to_bf16({});", lvalue, value);
  if (element.isF16())
    return fmt::format("{} = to_f16({});", lvalue, value);
  return fmt::format("{} = {};", lvalue, value);
}

int64_t KernelEmitter::firstRegister(Value fragment) {
  auto view = fragment.getDefiningOp<ViewOp>();
  if (!view)
    return 0;
  // Columns of an accumulator, at a multiple of 8: four registers for each eight of them.
  return affineOf(view.getOffsets().back()).constant / 8 * 4;
}

std::string KernelEmitter::fragName(Value fragment) { return names[declaration(fragment)->getResult(0)]; }

/// Index of an element in each dimension of its declaration, as text. Values keep their names: `t + r`, not what t was
/// computed from.
std::vector<std::string> KernelEmitter::elementIndices(Value addressable, ValueRange indices) {
  std::vector<std::string> text;
  for (Value index : indices)
    text.push_back(scalar(index).text);
  while (auto view = addressable.getDefiningOp<ViewOp>()) {
    std::vector<std::string> outer;
    size_t next = 0;
    for (auto [offset, size] : llvm::zip_equal(view.getOffsets(), view.getSizes())) {
      std::string start = scalar(offset).in(Code::add), inner = size != 0 ? text[next++] : "0";
      outer.push_back(inner == "0" ? start : start == "0" ? inner : fmt::format("{} + {}", start, inner));
    }
    text = std::move(outer);
    addressable = view.getBase();
  }
  return text;
}

void KernelEmitter::emitUniformLoad(LoadOp load) {
  Value source = load.getSource();
  std::vector<std::string> text = elementIndices(source, load.getIndices());
  Type element = elementType(source);
  std::string value;
  if (space(source) == Space::Global)
    value = loadGlobal(element, globalElement(cast<ArgumentOp>(declaration(source)), text));
  else
    value = loadShared(element, sharedAddress(source, text));
  std::string name = cast<StringAttr>(declaration(source)->getAttr("name")).getValue().str() + "_value";
  std::string type = cppType(load.getResult());
  out.line("const {} {} = {};", type, nameValue(load.getResult(), name), value);
}

} // namespace flashqla::codegen
