//===- TileLoweredOps.td - Lowered ops of the tile dialect --------------------------------------===//
//
// What the hardware gets. A generation has become a slot and a parity; counts, fences and elections are written out.
// The generation that a slot and a parity stand for is kept beside them, as `generation` + `offset`: no code comes of
// it, and the simulator checks the one against the other.
//
//===---------------------------------------------------------------------------------------------===//

#ifndef FLASHQLA_TILE_LOWERED_OPS
#define FLASHQLA_TILE_LOWERED_OPS

def Tile_SlotOp : Tile_Op<"slot", [Pure]> {
  let summary = "one slot of a ring of shared tiles";
  let description = [{
    ```mlir
    %a = tile.slot %ring[%slot : i32] of %i : <4, [64, 64], bf16> -> <1, [64, 64], bf16>
    ```
  }];
  let arguments = (ins Tile_Shared:$ring, Tile_Counter:$slot, Optional<I64>:$generation,
                       DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Tile_Shared:$result);
  let assemblyFormat = "$ring `[` $slot `:` type($slot) `]` (`of` $generation^)? attr-dict `:` type($ring) `->` type($result)";
}

def Tile_WaitParityOp : Tile_Op<"wait_parity"> {
  let summary = "spins until the phase of a barrier's slot with this parity is complete";
  let description = [{
    ```mlir
    tile.wait_parity %full[%slot : i32] parity %parity : i32 of %i {offset = -1 : i64} : <4>
    ```
  }];
  let arguments = (ins Tile_Barrier:$barrier, Tile_Counter:$slot, Tile_Counter:$parity, Optional<I64>:$generation,
                       DefaultValuedAttr<I64Attr, "0">:$offset);
  let assemblyFormat = [{
    $barrier `[` $slot `:` type($slot) `]` `parity` $parity `:` type($parity) (`of` $generation^)? attr-dict
    `:` type($barrier)
  }];
}

def Tile_ArriveSlotOp : Tile_Op<"arrive_slot", [AttrSizedOperandSegments]> {
  let summary = "arrives at a barrier's slot: all threads of a warpgroup role, the elected lane of a warp role";
  let description = [{
    `tx_bytes` are the bytes of the copies attached to the generation: the lane that issued them arrives with
    expect_tx. `guard`, if present, must be true for the arrival to happen (a generation below zero does nothing).

    ```mlir
    tile.arrive_slot %full[%slot : i32] of %i if %started {tx_bytes = 16384 : i64} : <4>
    ```
  }];
  let arguments = (ins Tile_Barrier:$barrier, Tile_Counter:$slot, Optional<I64>:$generation, Optional<I1>:$guard,
                       DefaultValuedAttr<I64Attr, "0">:$offset, DefaultValuedAttr<I64Attr, "0">:$tx_bytes);
  let assemblyFormat = [{
    $barrier `[` $slot `:` type($slot) `]` (`of` $generation^)? (`if` $guard^)? attr-dict `:` type($barrier)
  }];
}

def Tile_ExpectTxOp : Tile_Op<"expect_tx"> {
  let summary = "announces the bytes of copies that a branch or inner loop attaches to a barrier's slot";
  let description = [{
    Where the copies stand beside the arrival, the arrival announces them itself.

    ```mlir
    tile.expect_tx %full[%slot : i32] {bytes = 8192 : i64} : <4>
    ```
  }];
  let arguments = (ins Tile_Barrier:$barrier, Tile_Counter:$slot, Optional<I64>:$generation,
                       DefaultValuedAttr<I64Attr, "0">:$offset, I64Attr:$bytes);
  let assemblyFormat = "$barrier `[` $slot `:` type($slot) `]` (`of` $generation^)? attr-dict `:` type($barrier)";
}

def Tile_TmaLoadOp : Tile_Op<"tma_load", [AttrSizedOperandSegments]> {
  let summary = "one bulk load of a box, issued by the elected lane";
  let description = [{
    `map` indexes the kernel's tensor maps. Coordinates come innermost first. The target is a window of a shared tile; `target_byte` is the offset of this box in it.

    ```mlir
    tile.tma_load %x[%c0, %row] into %a_s completes %full[%slot : i32]
        {bytes = 8192 : i64, map = 0 : i64, target_byte = 0 : i64} : <2, bf16>, !tile.shared<1, [64, 64], bf16>, <4>
    ```
  }];
  let arguments = (ins Tile_Tensor:$tensor, Tile_Addressable:$target, Tile_Barrier:$barrier, Tile_Counter:$slot,
                       Optional<I64>:$generation, Variadic<I64>:$coordinates,
                       DefaultValuedAttr<I64Attr, "0">:$offset, I64Attr:$target_byte, I64Attr:$bytes, I64Attr:$map);
  let assemblyFormat = [{
    $tensor `[` $coordinates `]` `into` $target `completes` $barrier `[` $slot `:` type($slot) `]`
    (`of` $generation^)? attr-dict `:` type($tensor) `,` type($target) `,` type($barrier)
  }];
}

def Tile_TmaStoreOp : Tile_Op<"tma_store"> {
  let summary = "one bulk store of a box, issued by the elected lane";
  let description = [{
    ```mlir
    tile.tma_store %y[%c0, %row] from %a_s {bytes = 8192 : i64, map = 1 : i64, source_byte = 0 : i64}
        : <2, bf16>, !tile.shared<1, [64, 64], bf16>
    ```
  }];
  let arguments = (ins Tile_Tensor:$tensor, Tile_Addressable:$source, Variadic<I64>:$coordinates,
                       I64Attr:$source_byte, I64Attr:$bytes, I64Attr:$map);
  let assemblyFormat = [{
    $tensor `[` $coordinates `]` `from` $source attr-dict `:` type($tensor) `,` type($source)
  }];
}

def Tile_CommitStoresOp : Tile_Op<"commit_stores"> {
  let summary = "closes the bulk group of the preceding stores";
  let description = [{
    ```mlir
    tile.commit_stores
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_WaitStoresOp : Tile_Op<"wait_stores"> {
  let summary = "the issuing lane waits until all but the newest `keep` bulk groups have read their tiles";
  let description = [{
    Without `read` it waits until they are complete in global memory.

    ```mlir
    tile.wait_stores keep 0 {read}
    ```
  }];
  let arguments = (ins I64Attr:$keep, UnitAttr:$read);
  let assemblyFormat = "`keep` $keep attr-dict";
}

def Tile_FenceProxyOp : Tile_Op<"fence_proxy"> {
  let summary = "orders this thread's shared writes before later accesses by the async proxy";
  let description = [{
    With `global`, its writes to tensors as well.

    ```mlir
    tile.fence_proxy
    tile.fence_proxy {global}
    ```
  }];
  let arguments = (ins UnitAttr:$global);
  let assemblyFormat = "attr-dict";
}

def Tile_WgmmaGroupOp : Tile_Op<"wgmma_group"> {
  let summary = "fence, products of all k-steps, commit: one group";
  let description = [{
    Like `tile.wgmma`, but a fragment operand A is a 16-bit fragment in accumulator layout (an anonymous copy has become
    a `tile.frag` and a `tile.map`).

    ```mlir
    tile.wgmma_group add %acc, %half, %b_s {transpose_b}
        : !tile.frag<[64, 64], f32>, !tile.frag<[64, 64], bf16>, !tile.shared<1, [64, 64], bf16>
    ```
  }];
  let arguments = (ins Tile_ProductModeAttr:$mode, Tile_Addressable:$target, Tile_Addressable:$a,
                       Tile_Addressable:$b, UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let assemblyFormat = "$mode $target `,` $a `,` $b attr-dict `:` type($target) `,` type($a) `,` type($b)";
}

def Tile_WaitGroupOp : Tile_Op<"wait_group"> {
  let summary = "waits until all but the newest `keep` product groups have retired";
  let description = [{
    `retires` are the fragments whose last product in flight retires here.

    ```mlir
    tile.wait_group keep 1 retires %u : !tile.frag<[64, 64], f32>
    ```
  }];
  let arguments = (ins I64Attr:$keep, Variadic<Tile_Frag>:$retires);
  let assemblyFormat = "`keep` $keep (`retires` $retires^ `:` type($retires))? attr-dict";
}

#endif
