#include "compiler/ir/tile.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/ir/TileDialect.cpp.inc"
#include "compiler/ir/TileEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/ir/TileAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/ir/TileTypes.cpp.inc"

namespace flashqla::tile {

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/TileOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/ir/TileAttrs.cpp.inc"
      >();
  registerTypes();
}

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/ir/TileTypes.cpp.inc"
      >();
}

} // namespace flashqla::tile
