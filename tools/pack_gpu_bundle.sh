#!/bin/sh
# Packs what a machine with a GPU needs to test and time the kernels, and nothing else: it needs
# neither the compiler nor the CUDA toolkit there. Only random programs are compiled there, by NVRTC.
#
#   tools/pack_gpu_bundle.sh [BUILD_DIR]      default: build/release; configured if it is not there
#
# The result is build/gpu_bundle: static test and benchmark binaries, compiled kernels, run.sh. Run it
# with build/gpu_bundle/run.sh OUT_DIR.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
build=${1:-build/release}
if [ ! -e "$build/CMakeCache.txt" ]; then
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release
fi
cmake --build "$build" --target flashqlac gpu_tests engines_test random_programs flashqla_bench compile_gpu_cuda
bundle=build/gpu_bundle
mkdir -p "$bundle"
for binary in tests/gpu_tests tests/engines_test tests/random_programs tools/flashqla_bench; do
  strip -o "$bundle/$(basename "$binary")" "$build/$binary"
done
cp tools/run_gpu_bundle.sh "$bundle/run.sh"
status=0
tools/compile_bundles.sh "$build/tools/flashqlac" "$bundle/bundles" "$bundle/gpu_tests" \
  "$bundle/flashqla_bench" || status=$?
"$build/tests/compile_gpu_cuda" tests/gpu "$bundle/bundles" || status=$?
# Bundles of kernels that nobody asks for any more.
for file in "$bundle"/bundles/*.fqb; do
  grep -q "^$(basename "$file")	" "$bundle/bundles/logs/list" || rm -f "$file"
done
du -sh "$bundle"
exit "$status"
