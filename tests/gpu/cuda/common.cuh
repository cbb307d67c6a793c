// What the kernels of this folder share; printed between the prelude and each of them.

DEVICE u32 cycles() {
  u32 now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}
DEVICE void delay(u32 duration) {
  const u32 start = cycles();
  while (cycles() - start < duration) {}
}

/// Whether the phase with this parity is complete, asked once.
DEVICE bool test_parity(u32 barrier, u32 parity) {
  u32 done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(barrier), "r"(parity)
               : "memory");
  return done;
}
/// The same, asked again and again for some cycles: for waits that may never end.
DEVICE bool wait_bounded(u32 barrier, u32 parity, u32 limit) {
  const u32 start = cycles();
  while (!test_parity(barrier, parity))
    if (cycles() - start > limit) return false;
  return true;
}
DEVICE void mbarrier_arrive_count(u32 barrier, u32 count) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
DEVICE void init_barrier(u32 barrier, u32 count) {
  mbarrier_init(barrier, count);
  fence_mbarrier_init();
}

DEVICE u32 load_volatile(const void *pointer) {
  u32 x;
  asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(x) : "l"(pointer) : "memory");
  return x;
}
DEVICE void store_shared4(u32 address, u32 x) { store_u32x4(address, x, x, x, x); }
DEVICE void add(u32 *counter, u32 count) {
  if (count) atomicAdd(counter, count);
}
