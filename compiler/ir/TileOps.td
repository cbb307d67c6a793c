//===- TileOps.td - Surface ops of the tile dialect ---------------------------------------------===//
//
// What the author wrote. Scalars inside the kernel are i64 (dims, indices, integer loads), i1, f32, f16 and bf16.
// An op without a memory effect interface is never moved, merged or deleted by upstream passes; that is the default
// here, and only pure ops say so.
//
// A *generation* counts the uses of a ring: generation g of a ring of S slots lives in slot g mod S. Ops that name one
// take an optional SSA base and a constant: `%full[%k] - 4` is base %k, offset -4; a missing base is zero. Keeping the
// constant out of the arithmetic lets checks compare generations and lowering share one slot counter.
//
//===---------------------------------------------------------------------------------------------===//

#ifndef FLASHQLA_TILE_OPS
#define FLASHQLA_TILE_OPS

include "TileBase.td"
include "TileTypes.td"
include "mlir/IR/SymbolInterfaces.td"

//===---------------------------------------------------------------------------------------------===//
// Structure
//===---------------------------------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [IsolatedFromAbove, SingleBlock, NoTerminator, Symbol]> {
  let summary = "a kernel, specialised to its compile-time parameters";
  let description = [{
    The body declares arguments, shared tiles and barriers, computes scalars that all roles share, and holds the roles.

    `dims` names every dimension of the signature in order; `static_dims` gives the value of those that are known.
    `params` shows the compile-time parameters as text. `arguments` describes the signature in order, one dictionary
    each: `name`, `kind` ("tensor" or "scalar"), `type` (element type), and for tensors `access` ("in", "out",
    "inout"), `shape` (a dimension expression as text for each extent, in the syntax of the runtime's manifest) and
    `layout` ("packed", "strided", "strided16"). `grid` lists axes as {`name`, `extent`}. `where` lists launch checks
    as {`condition` (text of a dimension expression), `source` (as written), `message` (the clause's comment, if it
    has one)}. `resident` is the promised number of CTAs per SM. `warpgroup_regs` is the
    register budget of each warpgroup in order.

    ```mlir
    tile.kernel @scale attributes {
        dims = ["N"], static_dims = {}, params = {W = "64"}, where = [],
        arguments = [{name = "x", kind = "tensor", type = f32, access = "in", shape = ["N"], layout = "packed"} ],
        grid = [{name = "p", extent = "1"} ], resident = 1 : i64, warpgroup_regs = array<i64: 128>} {
      %n = tile.dim "N"
      %x = tile.argument "x" in [%n] : <1, f32>
      tile.role "work" warps 0 to 4 {
        tile.sync
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$dims, DictionaryAttr:$static_dims,
                       DictionaryAttr:$params, ArrayAttr:$arguments, ArrayAttr:$grid, ArrayAttr:$where,
                       I64Attr:$resident, DenseI64ArrayAttr:$warpgroup_regs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Tile_RoleOp : Tile_Op<"role", [SingleBlock, NoTerminator, HasParent<"KernelOp">]> {
  let summary = "a program that some warps of the CTA execute";
  let description = [{
    `name` is unique in the kernel: instance 1 of `warp row each w in 0 .. 4` is "row[1]". A role of whole warpgroups
    starts at a multiple of four warps and has 4·n; a role of one warp has one. Warps that no role claims exit at once.

    ```mlir
    tile.role "mma" warps 4 to 12 {
      tile.sync
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$first_warp, I64Attr:$last_warp);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `warps` $first_warp `to` $last_warp attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t warps() { return getLastWarp() - getFirstWarp(); }
    int64_t threads() { return 32 * warps(); }
    /// True for `warpgroup` roles, which may issue products; false for `warp` roles.
    bool isWarpgroup() { return warps() >= 4; }
    int64_t warpgroups() { return warps() / 4; }
  }];
}

class Tile_LaunchValue<string mnemonic, dag result> : Tile_Op<mnemonic, [Pure,
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let arguments = (ins StrAttr:$name);
  let results = result;
}
def Tile_DimOp : Tile_LaunchValue<"dim", (outs I64:$result)> {
  let summary = "a dimension known at launch; between 0 and 2^31 - 1";
  let description = [{
    ```mlir
    %n = tile.dim "N"
    ```
  }];
  let assemblyFormat = "$name attr-dict";
}
def Tile_AxisOp : Tile_LaunchValue<"axis", (outs I64:$result)> {
  let summary = "this CTA's coordinate on a grid axis; between 0 and 2^31 - 2";
  let description = [{
    ```mlir
    %m = tile.axis "m"
    ```
  }];
  let assemblyFormat = "$name attr-dict";
}
def Tile_ScalarOp : Tile_Op<"scalar", [Pure]> {
  let summary = "a scalar argument";
  let description = [{
    Integer arguments are widened to i64.

    ```mlir
    %scale = tile.scalar "scale" : f32
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyTypeOf<[F32, F16, BF16, I64, I1]>:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Tile_ArgumentOp : Tile_Op<"argument", [NoMemoryEffect]> {
  let summary = "a tensor argument";
  let description = [{
    ```mlir
    %a = tile.argument "a" in [%m, %k] : <2, bf16>
    ```
  }];
  let arguments = (ins StrAttr:$name, Tile_AccessAttr:$access, Variadic<I64>:$extents);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$name $access `[` $extents `]` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_SharedOp : Tile_Op<"shared"> {
  let summary = "declares a ring of shared tiles";
  let description = [{
    Passes add `swizzle` (assign-layouts), `row_bytes` and `byte_offset` (plan-shared).

    ```mlir
    %a_s = tile.shared "a_s" : <4, [128, 64], bf16>
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<Tile_SwizzleAttr>:$swizzle, OptionalAttr<I64Attr>:$byte_offset);
  let results = (outs Tile_Shared:$result);
  let assemblyFormat = "$name (`swizzle` $swizzle^)? (`at` $byte_offset^)? attr-dict `:` type($result)";
}

def Tile_BarrierOp : Tile_Op<"barrier"> {
  let summary = "declares a ring of barriers";
  let description = [{
    Each generation completes when every arriver has arrived once and every copy attached to it has landed.

    ```mlir
    %full = tile.barrier "full" from ["load"] to ["mma"] : <4>
    ```
  }];
  let arguments = (ins StrAttr:$name, StrArrayAttr:$arrivers, StrArrayAttr:$waiters,
                       OptionalAttr<I64Attr>:$byte_offset);
  let results = (outs Tile_Barrier:$result);
  let assemblyFormat = "$name `from` $arrivers `to` $waiters (`at` $byte_offset^)? attr-dict `:` type($result)";
}

def Tile_FragOp : Tile_Op<"frag"> {
  let summary = "declares a fragment, undefined until written, dead at the end of its block";
  let description = [{
    `layout` is set by assign-layouts.

    ```mlir
    %acc = tile.frag "acc" : <[128, 128], f32>
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<Tile_LayoutAttr>:$layout);
  let results = (outs Tile_Frag:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Tile_ViewOp : Tile_Op<"view", [Pure, AttrSizedOperandSegments]> {
  let summary = "a window of a tensor, shared tile or fragment";
  let description = [{
    `sizes` has an entry for each dimension of the base: the extent of the window there, or 0 for a plain index, which
    drops the dimension. `offsets` has one value for each dimension. A shared base takes a generation. With `until`,
    elements whose coordinate in dimension `until_dim` is at or beyond it do not exist: they read as zero and are not
    written, like those outside a tensor.

    ```mlir
    %w = tile.view %keys[%batch, %t, %h, %c0] sizes [0, 64, 0, 128] until %t1 {until_dim = 1 : i64}
        : !tile.tensor<4, bf16> -> <global, [64, 128], bf16>
    %s = tile.view %k_s gen %i[%c0, %c0] sizes [64, 128] {generation_offset = -1 : i64}
        : !tile.shared<3, [64, 128], bf16> -> <shared, [64, 128], bf16>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_Tensor, Tile_Shared, Tile_Frag]>:$base, Optional<I64>:$generation,
                       Variadic<I64>:$offsets, Optional<I64>:$until, DenseI64ArrayAttr:$sizes,
                       DefaultValuedAttr<I64Attr, "0">:$generation_offset, OptionalAttr<I64Attr>:$until_dim);
  let results = (outs Tile_View:$result);
  let assemblyFormat = [{
    $base (`gen` $generation^)? `[` $offsets `]` `sizes` $sizes (`until` $until^)? attr-dict
    `:` type($base) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===---------------------------------------------------------------------------------------------===//
// Synchronisation
//===---------------------------------------------------------------------------------------------===//

class Tile_BarrierUse<string mnemonic> : Tile_Op<mnemonic> {
  let arguments = (ins Tile_Barrier:$barrier, Optional<I64>:$generation,
                       DefaultValuedAttr<I64Attr, "0">:$offset);
  let assemblyFormat = "$barrier `[` ($generation^)? `]` attr-dict `:` type($barrier)";
}
def Tile_WaitOp : Tile_BarrierUse<"wait"> {
  let summary = "blocks until a generation of a barrier is complete; generations below zero are";
  let description = [{
    ```mlir
    tile.wait %empty[%k] {offset = -4 : i64} : <4>
    ```
  }];
}
def Tile_ArriveOp : Tile_BarrierUse<"arrive"> {
  let summary = "the role's one arrival at a generation of a barrier; below zero it does nothing";
  let description = [{
    Everything the role did before, and the copies it attached to the generation, happens before everything that a
    role does after waiting for it.

    ```mlir
    tile.arrive %full[%k] : <4>
    ```
  }];
}
def Tile_SyncOp : Tile_Op<"sync"> {
  let summary = "a barrier over exactly the threads of the role";
  let description = [{
    ```mlir
    tile.sync
    ```
  }];
  let assemblyFormat = "attr-dict";
}
def Tile_AwaitOp : Tile_Op<"await"> {
  let summary = "waits for asynchronous operations of this role";
  let description = [{
    `fragment`: until no product in flight writes the target; `tile`: until no store of this role still reads it;
    `tensor`: until this role's stores to it are complete; `wgmma`, `copy_tma`, `copy_async`: all but the newest `keep`
    groups.

    ```mlir
    tile.await fragment of %u : !tile.frag<[64, 64], f32>
    tile.await wgmma {keep = 1 : i64}
    ```
  }];
  let arguments = (ins Tile_AwaitKindAttr:$kind, Optional<Tile_Addressable>:$target,
                       DefaultValuedAttr<I64Attr, "0">:$keep);
  let assemblyFormat = "$kind (`of` $target^ `:` type($target))? attr-dict";
  let hasVerifier = 1;
}

//===---------------------------------------------------------------------------------------------===//
// Data movement and products
//===---------------------------------------------------------------------------------------------===//

def Tile_CopyOp : Tile_Op<"copy", [AttrSizedOperandSegments]> {
  let summary = "copies a window";
  let description = [{
    `tma`: a bulk copy between global and shared memory; a load completes on `barrier`. `async`: per-thread cp.async
    from global to shared memory. `plain`: executed by the role's threads, complete when the op ends; `cast` narrows
    (`<- bf16(x)`), widening needs no cast. lower-rings adds the `slot` of the generation.

    ```mlir
    tile.copy tma %a_s from %w completes %full[%k]
        : !tile.shared<1, [64, 64], bf16>, !tile.view<global, [64, 64], bf16>, !tile.barrier<4>
    ```
  }];
  let arguments = (ins Tile_CopyKindAttr:$kind, Tile_Addressable:$target, Tile_Addressable:$source,
                       Optional<Tile_Barrier>:$barrier, Optional<I64>:$generation, Optional<Tile_Counter>:$slot,
                       DefaultValuedAttr<I64Attr, "0">:$offset, OptionalAttr<TypeAttr>:$cast);
  let assemblyFormat = [{
    $kind $target `from` $source (`completes` $barrier^ `[` ($generation^)? `]`)? (`slot` $slot^ `:` type($slot))?
    attr-dict `:` type($target) `,` type($source) (`,` type($barrier)^)?
  }];
  let hasVerifier = 1;
}

def Tile_WgmmaOp : Tile_Op<"wgmma"> {
  let summary = "starts a tensor-core product of one group: target ∘= a @ b";
  let description = [{
    `a` is a shared tile or a fragment, `b` a shared tile, the target an f32 fragment (or columns of one).
    `transpose_a` and `transpose_b` read the tile as its transpose (`.T`). `cast_a` is the type of an `E(x)` operand:
    an anonymous copy of the fragment taken at this point.

    ```mlir
    tile.wgmma add %acc, %a_s, %b_s {transpose_b}
        : !tile.frag<[64, 64], f32>, !tile.shared<1, [64, 64], bf16>, !tile.shared<1, [64, 64], bf16>
    ```
  }];
  let arguments = (ins Tile_ProductModeAttr:$mode, Tile_Addressable:$target, Tile_Addressable:$a,
                       Tile_Addressable:$b, UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       OptionalAttr<TypeAttr>:$cast_a);
  let assemblyFormat = "$mode $target `,` $a `,` $b attr-dict `:` type($target) `,` type($a) `,` type($b)";
  let hasVerifier = 1;
}

//===---------------------------------------------------------------------------------------------===//
// Elementwise
//===---------------------------------------------------------------------------------------------===//

def Tile_MapOp : Tile_Op<"map", [SingleBlock, NoTerminator,
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "evaluates its body once for each point of a domain, in no order";
  let description = [{
    The block arguments are the point's coordinates. A point makes all its reads before its writes: the body holds
    scalars and `tile.load`s, then `tile.store`s (a `where` puts a store into `scf.if`). `names` are the indices as
    written.

    ```mlir
    tile.map [64, 64] names ["r", "c"] {
    ^bb0(%r: i64, %c: i64):
      %v = tile.load %p[%r, %c] : !tile.frag<[64, 64], f32> -> f32
      tile.store %v, %q[%r, %c] : f32, !tile.view<shared, [64, 64], f32>
    }
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$domain, StrArrayAttr:$names);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$domain `names` $names attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load", [DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "reads an element";
  let description = [{
    Integer elements are widened to i64. Outside a map only tensors and shared tiles can be read, and the value is
    uniform over the role.

    ```mlir
    %e = tile.load %gam[%r] : !tile.shared<1, [64], f32> -> f32
    ```
  }];
  let arguments = (ins Tile_Addressable:$source, Variadic<I64>:$indices);
  let results = (outs AnyTypeOf<[F32, F16, BF16, I64, I1]>:$result);
  let assemblyFormat = "$source `[` $indices `]` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store"> {
  let summary = "writes an element; only in a map";
  let description = [{
    ```mlir
    tile.store %e, %p[%r, %c] : f32, !tile.frag<[64, 64], f32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, F16, BF16, I64, I1]>:$value, Tile_Addressable:$target, Variadic<I64>:$indices);
  let assemblyFormat = "$value `,` $target `[` $indices `]` attr-dict `:` type($value) `,` type($target)";
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "sum, max or min over one more index";
  let description = [{
    The body's argument runs over lower .. upper. In a map it is evaluated at each point; elsewhere once, and the result
    is uniform over the role. `fragment` says that the body reads fragments, so that the index is distributed like their
    dimension.

    ```mlir
    %s = tile.reduce sum "c" from %c0 to %c64 {
    ^bb0(%c: i64):
      %value = tile.load %v[%c] : !tile.frag<[64], f32> -> f32
      tile.yield %value : f32
    } : f32
    ```
  }];
  let arguments = (ins Tile_ReduceKindAttr:$kind, I64:$lower, I64:$upper, StrAttr:$name,
                       UnitAttr:$fragment);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs AnyTypeOf<[F32, I64]>:$result);
  let assemblyFormat = "$kind $name `from` $lower `to` $upper attr-dict-with-keyword $body `:` type($result)";
}

def Tile_ScanOp : Tile_Op<"scan", [SingleBlock, RecursiveMemoryEffects, HasParent<"MapOp">]> {
  let summary = "inclusive prefix sum (or suffix sum) along an index of the enclosing map";
  let description = [{
    The body is evaluated at the point itself; where `mask` is false it counts as zero and is not evaluated.

    ```mlir
    %s = tile.scan along 0 {
      %value = tile.load %gam[%r] : !tile.shared<1, [64], f32> -> f32
      tile.yield %value : f32
    } : f32
    ```
  }];
  let arguments = (ins I64Attr:$dim, UnitAttr:$reverse, Optional<I1>:$mask);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs F32:$result);
  let assemblyFormat = "`along` $dim (`where` $mask^)? attr-dict-with-keyword $body `:` type($result)";
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ParentOneOf<["ReduceOp", "ScanOp"]>]> {
  let summary = "the value of a reduction's or scan's body";
  let description = [{
    ```mlir
    %s = tile.scan along 0 {
      tile.yield %e : f32
    } : f32
    ```
  }];
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Tile_InverseOp : Tile_Op<"unit_lower_inverse"> {
  let summary = "target = (I + source)^-1 for a strictly lower triangular source";
  let description = [{
    Both are 64 × 64 f32 fragments (they may be the same one), `scratch` a shared tile of at least 12 KB that the role
    may overwrite. Diagonal 16 × 16 blocks by substitution in f32, each element rounded to the type of `scratch` (f16 if
    that is f32) before the rows below are solved; two merge levels as f16 products with f32 sums.

    ```mlir
    tile.unit_lower_inverse %u, %l using %t_s
        : !tile.frag<[64, 64], f32>, !tile.frag<[64, 64], f32>, !tile.shared<1, [64, 64], f32>
    ```
  }];
  let arguments = (ins Tile_Frag:$target, Tile_Frag:$source, AnyTypeOf<[Tile_Shared, Tile_View]>:$scratch);
  let assemblyFormat = [{
    $target `,` $source `using` $scratch attr-dict `:` type($target) `,` type($source) `,` type($scratch)
  }];
  let hasVerifier = 1;
}

def Tile_AssertOp : Tile_Op<"assert"> {
  let summary = "stops the kernel with a message if the condition is false";
  let description = [{
    ```mlir
    tile.assert %fits, "n < 64"
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

include "TileLoweredOps.td"

#endif
