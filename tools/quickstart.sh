#!/bin/sh
# From a fresh clone to a GDN forward: installs what is missing, builds flashqlac, compiles the forward
# for sm_90a, and runs and checks it: on the GPU, or a small one in the simulator where there is none.
#
#   tools/quickstart.sh
set -eu
cd "$(dirname "$0")/.."
. tools/dependencies.sh
fq_dependencies

fq_say "building flashqlac (build/release; log: build/release.log)"
begin=$(date +%s)
{ cmake --preset release && cmake --build --preset release --target flashqlac; } \
  >build/release.log 2>&1 || {
  tail -n 30 build/release.log >&2
  fq_die "the build failed"
}
fq_say "built in $(($(date +%s) - begin)) s"
flashqlac=build/release/tools/flashqlac
"$flashqlac" env | sed '/^$/,$d'
echo

# 16 q/k heads and 64 value heads of 128, two packed sequences.
shape="--heads-qk 16 --heads-v 64 --seqlens 4096,1000 --seed 1"
bundles=build/gdn_forward
status=0
if "$flashqlac" env | grep -q '^GPU .*sm_90'; then
  # shellcheck disable=SC2086 # a list
  "$flashqlac" run gdn.forward $shape --check --repeat 20 --no-cache --bundles "$bundles" || status=$?
else
  # shellcheck disable=SC2086 # a list
  "$flashqlac" run gdn.forward $shape --no-run --no-cache --bundles "$bundles" || status=$?
  echo
  fq_say "there is no Hopper GPU here: a small forward in the simulator"
  [ "$status" != 0 ] || "$flashqlac" run gdn.forward --device sim --check \
    --heads-qk 2 --heads-v 4 --seqlens 300,212 --seed 1 || status=$?
fi
[ "$status" = 0 ] || fq_die "the GDN forward failed"
echo
fq_say "kernels: $bundles"
fq_say "next: $flashqlac compile kernels/gemm_nt.tile -o gemm.cubin"
[ -z "${FLASHQLA_LIBNVRTC:-}" ] || fq_say "in your shell: export FLASHQLA_LIBNVRTC=$FLASHQLA_LIBNVRTC"
