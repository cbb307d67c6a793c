// RUN: verify

// expected-error @+1 {{'tile.kernel' op register budget 20 is not a multiple of 8 from 24 to 256}}
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 20>, where = []} {
}

// -----
// expected-error @+1 {{'tile.kernel' op promises 0 CTAs per SM}}
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 0 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  // expected-error @+1 {{'tile.role' op has warps 0 .. 3: a role is one warp or whole warpgroups}}
  tile.role "r" warps 0 to 3 {
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %n = tile.dim "N"
  // expected-error @+1 {{'tile.argument' op has 1 extents, its type rank 2}}
  %a = tile.argument "a" in[%n] : <2, f32>
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  %c = arith.constant 0 : i64
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.view' op has 1 offsets and 2 sizes, its base 2 dimensions}}
    %v = tile.view %s[%c] sizes [64, 64] : !tile.shared<1, [64, 64], bf16> -> <shared, [64, 64], bf16>
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  %c = arith.constant 0 : i64
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.view' op ranges over other extents than its type}}
    %v = tile.view %s[%c, %c] sizes [64, 32] : !tile.shared<1, [64, 64], bf16> -> <shared, [64, 64], bf16>
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  %c = arith.constant 0 : i64
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.view' op has a limit but no `until_dim`}}
    %v = tile.view %s[%c, %c] sizes [64, 64] until %c : !tile.shared<1, [64, 64], bf16> -> <shared, [64, 64], bf16>
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  %c = arith.constant 0 : i64
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.view' op differs from its base in element type or space}}
    %v = tile.view %s[%c, %c] sizes [64, 64] : !tile.shared<1, [64, 64], bf16> -> <shared, [64, 64], f32>
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.await' op needs a target}}
    tile.await fragment
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.await' op takes no target}}
    tile.await wgmma of %s : !tile.shared<1, [64, 64], bf16>
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  %c = arith.constant 0 : i64
  %x = tile.argument "x" in[%c, %c] : <2, bf16>
  %f = tile.frag "f" : <[64, 32], bf16>
  %g = tile.frag "g" : <[64, 64], bf16>
  %b = tile.barrier "b" from ["r"] to ["r"] : <1>
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.copy' op has windows of different extents}}
    tile.copy plain %f from %s : !tile.frag<[64, 32], bf16>, !tile.shared<1, [64, 64], bf16>
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  %c = arith.constant 0 : i64
  %x = tile.argument "x" in[%c, %c] : <2, bf16>
  %f = tile.frag "f" : <[64, 32], bf16>
  %g = tile.frag "g" : <[64, 64], bf16>
  %b = tile.barrier "b" from ["r"] to ["r"] : <1>
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.copy' op completes on a barrier, which only a bulk load does}}
    tile.copy plain %g from %s completes %b[] : !tile.frag<[64, 64], bf16>, !tile.shared<1, [64, 64], bf16>, !tile.barrier<1>
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  %t = tile.shared "t" : <1, [32, 64], bf16>
  %v = tile.shared "v" : <1, [64], bf16>
  %d = tile.frag "d" : <[64, 64], f32>
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.wgmma' op has an operand of rank 1, not 2}}
    tile.wgmma set %d, %v, %s : !tile.frag<[64, 64], f32>, !tile.shared<1, [64], bf16>, !tile.shared<1, [64, 64], bf16>
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  %t = tile.shared "t" : <1, [32, 64], bf16>
  %v = tile.shared "v" : <1, [64], bf16>
  %d = tile.frag "d" : <[64, 64], f32>
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.wgmma' op shapes do not multiply: [64, 64] @ [32, 64] into [64, 64]}}
    tile.wgmma set %d, %s, %t : !tile.frag<[64, 64], f32>, !tile.shared<1, [64, 64], bf16>, !tile.shared<1, [32, 64], bf16>
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  %t = tile.shared "t" : <1, [32, 64], bf16>
  %v = tile.shared "v" : <1, [64], bf16>
  %d = tile.frag "d" : <[64, 64], f32>
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.wgmma' op takes A from shared memory or registers, B from shared memory, the target in registers}}
    tile.wgmma set %d, %s, %d : !tile.frag<[64, 64], f32>, !tile.shared<1, [64, 64], bf16>, !tile.frag<[64, 64], f32>
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.map' op has 2 extents, 1 names and 1 coordinates}}
    tile.map [64, 64] names ["r"] {
    ^bb0(%r: i64):
    }
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  %c = arith.constant 0 : i64
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.load' op has 1 indices for rank 2}}
    %1 = tile.load %s[%c] : !tile.shared<1, [64, 64], bf16> -> bf16
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  %c = arith.constant 0 : i64
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.load' op reads 'bf16' as 'f32'}}
    %2 = tile.load %s[%c, %c] : !tile.shared<1, [64, 64], bf16> -> f32
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %d = tile.frag "d" : <[64, 64], f32>
  %c = arith.constant 0 : i64
  %h = arith.constant 0.0 : bf16
  %e = arith.constant 0.0 : f32
  tile.role "r" warps 0 to 4 {
    tile.map [64] names ["r"] {
    ^bb0(%r: i64):
      // expected-error @+1 {{'tile.store' op has 1 indices for rank 2}}
      tile.store %e, %d[%r] : f32, !tile.frag<[64, 64], f32>
    }
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %d = tile.frag "d" : <[64, 64], f32>
  %c = arith.constant 0 : i64
  %h = arith.constant 0.0 : bf16
  %e = arith.constant 0.0 : f32
  tile.role "r" warps 0 to 4 {
    tile.map [64] names ["r"] {
    ^bb0(%r: i64):
      // expected-error @+1 {{'tile.store' op writes 'bf16' to 'f32'}}
      tile.store %h, %d[%r, %c] : bf16, !tile.frag<[64, 64], f32>
    }
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %d = tile.frag "d" : <[64, 64], f32>
  %c = arith.constant 0 : i64
  %h = arith.constant 0.0 : bf16
  %e = arith.constant 0.0 : f32
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.store' op stands outside a map}}
    tile.store %e, %d[%c, %c] : f32, !tile.frag<[64, 64], f32>
  }
}

// -----
tile.kernel @k attributes {arguments = [], dims = [], grid = [], params = {}, resident = 1 : i64, static_dims = {}, warpgroup_regs = array<i64: 128>, where = []} {
  %s = tile.shared "s" : <1, [64, 64], bf16>
  %d = tile.frag "d" : <[64, 64], f32>
  %n = tile.frag "n" : <[64, 32], f32>
  tile.role "r" warps 0 to 4 {
    // expected-error @+1 {{'tile.unit_lower_inverse' op takes 64 x 64 f32 fragments, not '!tile.frag<[64, 32], f32>'}}
    tile.unit_lower_inverse %d, %n using %s : !tile.frag<[64, 64], f32>, !tile.frag<[64, 32], f32>, !tile.shared<1, [64, 64], bf16>
  }
}
// CHECK: 22 pieces as expected
