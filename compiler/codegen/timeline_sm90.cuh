// Records of a timeline: one elected thread of each role notes when its statements begin and end. Printed behind the
// prelude where a kernel is instrumented (flashqlac compile --instrument); other kernels do not have it.
//
// The buffer is a list of four words each (ManifestTimeline). The first says which CTA records; then comes room for
// each role in turn. A statement takes one store, and one reading of the clock where it follows another one. A record
// is written without a branch, which would serialise products in flight, and without telling the compiler that memory
// changes, so that instrumented text is as close to the plain one as can be. (To collect records in the lanes of a warp
// and to store 32 at once was tried; it costs more.) Arithmetic on registers may still move across a record.

DEVICE u32 clock_cycles() {
  u32 cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles));
  return cycles;
}
DEVICE void store_global4_if(u32 wanted, u32 *pointer, u32 x, u32 y, u32 z, u32 w) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, %0, 0; @p st.global.v4.u32 [%1], {%2, %3, %4, %5};}" ::"r"(wanted),
               "l"(pointer), "r"(x), "r"(y), "r"(z), "r"(w));
}
/// What `code` names went on from `begin` until now. `at` is where the next record goes: far behind `end` in threads
/// that record nothing.
DEVICE u32 timeline_record(u32 *timeline, u32 &at, u32 end, u32 code, u32 begin) {
  const u32 now = clock_cycles();
  store_global4_if(at < end, timeline + 4 * (u64)at, begin, now, code, 0);
  ++at;
  return now;
}
