//===- TileBase.td - The tile dialect and its enums ---------------------------------------------===//
//
// One dialect, two halves. Surface ops say what the author wrote: generations, `until` windows, roles. Lowered ops
// say what the hardware gets: slots and parities, byte counts, fences. Passes only move ops from the first half to
// the second; the attribute `tile.stage` of the module ("surface", "lowered") says which half is still allowed.
//
// Tensors, shared tiles, fragments and barriers are handles with memory effects in program order. No fragment is an
// SSA value that is copied or carried round a loop: a product that were one would be hoisted above the wait that
// makes its operands valid. Scalars are ordinary SSA values of upstream `arith`, `math` and `scf`.
//
//===---------------------------------------------------------------------------------------------===//

#ifndef FLASHQLA_TILE_BASE
#define FLASHQLA_TILE_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::flashqla::tile";
  let summary = "Warp-specialised tile programs for Hopper";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
  let extraClassDeclaration = [{
    void registerTypes();
  }];
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;
class Tile_Type<string name, string typeMnemonic> : TypeDef<Tile_Dialect, name> { let mnemonic = typeMnemonic; }

class Tile_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::flashqla::tile";
  let genSpecializedAttr = 0;
}
class Tile_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Tile_Dialect, info, mnemonic> {
  let assemblyFormat = "$value";
}

def Tile_SpaceEnum : Tile_Enum<"Space", "memory space of a view", [
  I32EnumAttrCase<"Global", 0, "global">, I32EnumAttrCase<"Shared", 1, "shared">,
  I32EnumAttrCase<"Register", 2, "register">]>;

def Tile_CopyKindEnum : Tile_Enum<"CopyKind", "mechanism of a copy", [
  I32EnumAttrCase<"Plain", 0, "plain">, I32EnumAttrCase<"Tma", 1, "tma">, I32EnumAttrCase<"Async", 2, "async">]>;

def Tile_ProductModeEnum : Tile_Enum<"ProductMode", "what a product does with its target", [
  I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Add", 1, "add">, I32EnumAttrCase<"Subtract", 2, "subtract">]>;

def Tile_AwaitKindEnum : Tile_Enum<"AwaitKind", "what an await waits for", [
  I32EnumAttrCase<"Fragment", 0, "fragment">, I32EnumAttrCase<"Tile", 1, "tile">, I32EnumAttrCase<"Tensor", 2, "tensor">,
  I32EnumAttrCase<"Wgmma", 3, "wgmma">, I32EnumAttrCase<"CopyTma", 4, "copy_tma">,
  I32EnumAttrCase<"CopyAsync", 5, "copy_async">]>;

def Tile_ReduceKindEnum : Tile_Enum<"ReduceKind", "combining operation", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">]>;

def Tile_AccessEnum : Tile_Enum<"Access", "how a kernel uses a tensor argument", [
  I32EnumAttrCase<"In", 0, "in">, I32EnumAttrCase<"Out", 1, "out">, I32EnumAttrCase<"InOut", 2, "inout">]>;

def Tile_SwizzleEnum : Tile_Enum<"Swizzle", "arrangement of a shared tile", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"B32", 1, "swizzle32">, I32EnumAttrCase<"B64", 2, "swizzle64">,
  I32EnumAttrCase<"B128", 3, "swizzle128">]>;

def Tile_LayoutKindEnum : Tile_Enum<"LayoutKind", "family of fragment layouts", [
  I32EnumAttrCase<"Accumulator", 0, "accumulator">, I32EnumAttrCase<"Vector", 1, "vector">]>;

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "how a fragment is dealt to threads (compiler/layout/fragment_layout.h)";
  let description = [{
    `#tile.layout<accumulator, [64, 128], warps 4, piece 1, keep [0]>`: the row slice of a 64 × 128 accumulator.
  }];
  let parameters = (ins EnumParameter<Tile_LayoutKindEnum>:$kind, ArrayRefParameter<"int64_t">:$shape,
                        "int64_t":$warps, "int64_t":$piece, ArrayRefParameter<"int64_t">:$keep);
  let assemblyFormat = "`<` $kind `,` `[` $shape `]` `,` `warps` $warps `,` `piece` $piece `,` `keep` `[` $keep `]` `>`";
  let extraClassDeclaration = [{
    ::flashqla::FragmentLayout layout() const;
  }];
}

def Tile_SpaceAttr : Tile_EnumAttr<Tile_SpaceEnum, "space">;
def Tile_CopyKindAttr : Tile_EnumAttr<Tile_CopyKindEnum, "copy_kind">;
def Tile_ProductModeAttr : Tile_EnumAttr<Tile_ProductModeEnum, "product_mode">;
def Tile_AwaitKindAttr : Tile_EnumAttr<Tile_AwaitKindEnum, "await_kind">;
def Tile_ReduceKindAttr : Tile_EnumAttr<Tile_ReduceKindEnum, "reduce_kind">;
def Tile_AccessAttr : Tile_EnumAttr<Tile_AccessEnum, "access">;
def Tile_SwizzleAttr : Tile_EnumAttr<Tile_SwizzleEnum, "swizzle">;

#endif
