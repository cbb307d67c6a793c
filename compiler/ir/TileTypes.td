//===- TileTypes.td - Handles of the tile dialect -----------------------------------------------===//

#ifndef FLASHQLA_TILE_TYPES
#define FLASHQLA_TILE_TYPES

include "TileBase.td"

def Tile_Tensor : Tile_Type<"Tensor", "tensor"> {
  let summary = "a tensor argument in global memory";
  let description = [{
    Row-major. The extents are operands of `tile.argument`; `!tile.tensor<2, bf16>` has rank 2.
  }];
  let parameters = (ins "int64_t":$rank, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $rank `,` $elementType `>`";
}

def Tile_Shared : Tile_Type<"Shared", "shared"> {
  let summary = "a ring of tiles in shared memory";
  let description = [{
    `!tile.shared<4, [128, 64], bf16>` is a ring of four 128 × 64 tiles. A tile that is not a ring has one slot.
  }];
  let parameters = (ins "int64_t":$slots, ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $slots `,` `[` $shape `]` `,` $elementType `>`";
}

def Tile_Frag : Tile_Type<"Frag", "frag"> {
  let summary = "a fragment: a tile in the registers of one role";
  let description = [{
    `!tile.frag<[64, 128], f32>`. How it is dealt to the threads is an attribute of `tile.frag`, not of the type.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` `[` $shape `]` `,` $elementType `>`";
}

def Tile_Barrier : Tile_Type<"Barrier", "barrier"> {
  let summary = "a ring of mbarriers";
  let parameters = (ins "int64_t":$slots);
  let assemblyFormat = "`<` $slots `>`";
}

def Tile_View : Tile_Type<"View", "view"> {
  let summary = "a window of a tensor, a shared tile or a fragment";
  let description = [{
    `!tile.view<shared, [64, 128], bf16>`: the extents that the window ranges over; plain indices are dropped.
  }];
  let parameters = (ins EnumParameter<Tile_SpaceEnum>:$space, ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $space `,` `[` $shape `]` `,` $elementType `>`";
}

def Tile_Element : AnyTypeOf<[BF16, F16, F32, I32, I64, I1], "bf16, f16, f32, i32, i64 or bool">;
/// Whatever has elements: a tensor, a shared tile (slot 0), a fragment, or a window of one.
def Tile_Addressable : AnyTypeOf<[Tile_Tensor, Tile_Shared, Tile_Frag, Tile_View]>;
/// A ring's slot, parity or generation: i64, or i32 where it is a counter of a loop.
def Tile_Counter : AnyTypeOf<[I64, I32]>;

#endif
