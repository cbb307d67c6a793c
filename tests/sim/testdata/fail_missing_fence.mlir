// RUN: simulate N=256
// What threads write into b_s is stored by the copy engine: a proxy fence is missing before the arrivals.
module attributes {tile.stage = "lowered"} {
  tile.kernel @k attributes {arguments = [{access = "in", kind = "tensor", layout = "packed", name = "x", shape = ["N", "64"], type = bf16}, {access = "out", kind = "tensor", layout = "packed", name = "y", shape = ["N", "64"], type = bf16}], dims = ["N"], grid = [{extent = "1", name = "p"}], params = {}, resident = 1 : i64, shared_bytes = 32832 : i64, static_dims = {}, tensor_maps = [{argument = "x", boxes = array<i64: 64, 64>, dims = array<i64: 1, 0>, ragged = false, swizzle = #tile<swizzle swizzle128>}, {argument = "y", boxes = array<i64: 64, 64>, dims = array<i64: 1, 0>, ragged = false, swizzle = #tile<swizzle swizzle128>}], warpgroup_regs = array<i64: 40, 128>, where = []} {
    %c-2_i64 = arith.constant -2 : i64
    %c64_i64 = arith.constant 64 : i64
    %c1_i64 = arith.constant 1 : i64
    %c0_i64 = arith.constant 0 : i64
    %0 = tile.dim "N"
    %1 = tile.argument "x"  in[%0, %c64_i64] : <2, bf16>
    %2 = tile.argument "y"  out[%0, %c64_i64] : <2, bf16>
    %3 = tile.shared "a_s" swizzle  swizzle128 at 0 : <2, [64, 64], bf16>
    %4 = tile.shared "b_s" swizzle  swizzle128 at 16384 : <2, [64, 64], bf16>
    %5 = tile.barrier "full" from ["load"] to ["work"] at 32768 {arrivals = 1 : i64} : <2>
    %6 = tile.barrier "free" from ["work"] to ["load"] at 32784 {arrivals = 128 : i64} : <2>
    %7 = tile.barrier "done" from ["work"] to ["store"] at 32800 {arrivals = 128 : i64} : <2>
    %8 = tile.barrier "kept" from ["store"] to ["work"] at 32816 {arrivals = 1 : i64} : <2>
    tile.role "load" warps 0 to 1 {
      %9 = arith.divsi %0, %c64_i64 : i64
      scf.for %arg0 = %c0_i64 to %9 step %c1_i64  : i64 {
        %10 = arith.addi %arg0, %c-2_i64 : i64
        %11 = arith.andi %10, %c1_i64 : i64
        %12 = arith.shrsi %10, %c1_i64 : i64
        %13 = arith.andi %12, %c1_i64 : i64
        tile.wait_parity %6[%11 : i64] parity %13 : i64 of %arg0 {offset = -2 : i64} : <2>
        %14 = arith.andi %arg0, %c1_i64 : i64
        %15 = tile.slot %3[%14 : i64] of %arg0 : <2, [64, 64], bf16> -> <1, [64, 64], bf16>
        %16 = tile.view %15[%c0_i64, %c0_i64] sizes [64, 64] : !tile.shared<1, [64, 64], bf16> -> <shared, [64, 64], bf16>
        %17 = arith.muli %arg0, %c64_i64 : i64
        tile.tma_load %1[%c0_i64, %17] into %16 completes %5[%14 : i64] of %arg0 {bytes = 8192 : i64, map = 0 : i64, target_byte = 0 : i64} : <2, bf16>, !tile.view<shared, [64, 64], bf16>, <2>
        tile.arrive_slot %5[%14 : i64] of %arg0 {tx_bytes = 8192 : i64} : <2>
      }
    }
    tile.role "store" warps 1 to 2 {
      %9 = arith.divsi %0, %c64_i64 : i64
      scf.for %arg0 = %c0_i64 to %9 step %c1_i64  : i64 {
        %10 = arith.andi %arg0, %c1_i64 : i64
        %11 = arith.shrsi %arg0, %c1_i64 : i64
        %12 = arith.andi %11, %c1_i64 : i64
        tile.wait_parity %7[%10 : i64] parity %12 : i64 of %arg0 : <2>
        %13 = arith.muli %arg0, %c64_i64 : i64
        %14 = tile.slot %4[%10 : i64] of %arg0 : <2, [64, 64], bf16> -> <1, [64, 64], bf16>
        %15 = tile.view %14[%c0_i64, %c0_i64] sizes [64, 64] : !tile.shared<1, [64, 64], bf16> -> <shared, [64, 64], bf16>
        tile.tma_store %2[%c0_i64, %13] from %15 {bytes = 8192 : i64, map = 1 : i64, source_byte = 0 : i64} : <2, bf16>, !tile.view<shared, [64, 64], bf16>
        tile.commit_stores
        tile.wait_stores keep 0
        tile.arrive_slot %8[%10 : i64] of %arg0 : <2>
      }
    }
    tile.role "work" warps 4 to 8 attributes {barrier_id = 1 : i64} {
      %9 = arith.divsi %0, %c64_i64 : i64
      scf.for %arg0 = %c0_i64 to %9 step %c1_i64  : i64 {
        %10 = arith.andi %arg0, %c1_i64 : i64
        %11 = arith.shrsi %arg0, %c1_i64 : i64
        %12 = arith.andi %11, %c1_i64 : i64
        tile.wait_parity %5[%10 : i64] parity %12 : i64 of %arg0 : <2>
        %13 = arith.addi %arg0, %c-2_i64 : i64
        %14 = arith.andi %13, %c1_i64 : i64
        %15 = arith.shrsi %13, %c1_i64 : i64
        %16 = arith.andi %15, %c1_i64 : i64
        tile.wait_parity %8[%14 : i64] parity %16 : i64 of %arg0 {offset = -2 : i64} : <2>
        %17 = tile.slot %4[%10 : i64] of %arg0 : <2, [64, 64], bf16> -> <1, [64, 64], bf16>
        %18 = tile.view %17[%c0_i64, %c0_i64] sizes [64, 64] : !tile.shared<1, [64, 64], bf16> -> <shared, [64, 64], bf16>
        %19 = tile.slot %3[%10 : i64] of %arg0 : <2, [64, 64], bf16> -> <1, [64, 64], bf16>
        %20 = tile.view %19[%c0_i64, %c0_i64] sizes [64, 64] : !tile.shared<1, [64, 64], bf16> -> <shared, [64, 64], bf16>
        tile.map [64, 64] names ["r", "c"] {
        ^bb0(%arg1: i64, %arg2: i64):
          %21 = tile.load %20[%arg1, %arg2] : !tile.view<shared, [64, 64], bf16> -> bf16
          tile.store %21, %18[%arg1, %arg2] : bf16, !tile.view<shared, [64, 64], bf16>
        }
        tile.arrive_slot %6[%10 : i64] of %arg0 : <2>
        tile.arrive_slot %7[%10 : i64] of %arg0 : <2>
      }
    }
  }
}
// CHECK: fail_missing_fence.mlir:43:15: error: a bulk store of `store` reads `b_s[0]` without a proxy fence after its write by the threads of `work` [missing-fence]
// CHECK:    43 |         %15 = tile.view %14[%c0_i64, %c0_i64] sizes [64, 64] : !tile.shared<1, [64, 64], bf16> -> <shared, [64, 64], bf16>
// CHECK:       |               ^
// CHECK:    69 |           tile.store %21, %18[%arg1, %arg2] : bf16, !tile.view<shared, [64, 64], bf16>
// CHECK:       |           - written here
// CHECK:   note: found in this test
