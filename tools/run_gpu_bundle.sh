#!/bin/sh
# Tests and times the kernels on a machine with a GPU; made for the folder of pack_gpu_bundle.sh.
#
#   run.sh OUT_DIR [tests] [sanitizers] [bench] [random]      default: all but random
#
# Logs and the results as CSV go to OUT_DIR; a table of what ran is printed at the end. Exit status 1
# if something failed. A step that hangs is stopped after STEP_SECONDS (default 280). `random` needs
# NVRTC: RANDOM_COUNT (default 3000) programs from seed RANDOM_SEED (default 1) on, none of them begun
# after RANDOM_SECONDS (default 240); those that fail go to random.tar.
set -u
[ $# -ge 1 ] || { sed -n '2,10p' "$0" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
wanted=${*:-tests sanitizers bench}
cd "$(dirname "$0")" || exit 2
limit=${STEP_SECONDS:-280}
status=0
table=$out/table.txt
: >"$table"

# step NAME COMMAND...: runs it with a time limit, output to OUT_DIR/NAME.log, a line to the table.
step() {
  name=$1
  shift
  begin=$(date +%s)
  timeout -k 10 "$limit" "$@" >"$out/$name.log" 2>&1
  code=$?
  seconds=$(($(date +%s) - begin))
  case $code in
    0) result=ok ;;
    124 | 137) result="stopped after $limit s" ;;
    *) result="failed ($code)" ;;
  esac
  [ "$code" = 0 ] || status=1
  printf '%-12s | %-24s | %4s s | %s\n' "$name" "$result" "$seconds" "$(note "$name")" >>"$table"
}

# The line of a log that says most.
note() {
  case $1 in
    tests | engines) grep -E '^\[  (PASSED|FAILED)  \] [0-9]+ test|tests skipped' "$out/$1.log" | tr '\n' ' ' ;;
    random) tail -n 1 "$out/$1.log" ;;
    bench*) grep -E 'geometric means|: .*\[' "$out/$1.log" | tail -n 1 ;;
    *) grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$out/$1.log" | tail -n 1 | sed 's/^=*//' ;;
  esac
}

nvidia-smi >"$out/gpu.txt" 2>&1

case " $wanted " in *" tests "*)
  step tests ./gpu_tests --bundles bundles --gtest_color=no
  step engines ./engines_test --bundles bundles --gtest_color=no
  sed -n '/^kernel .*cases/,$p' "$out/engines.log" ;;
esac

# shellcheck disable=SC2012 # version folders of the toolkit have plain names
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -n 1)
case " $wanted " in *" sanitizers "*)
  if [ -n "$sanitizer" ]; then
    for tool in memcheck racecheck synccheck initcheck; do
      step "$tool" "$sanitizer" --tool "$tool" --error-exitcode 9 ./gpu_tests --bundles bundles \
        --gtest_color=no --gtest_filter="${SANITIZER_FILTER:-All/KernelsTest.*:LaunchTest.*:Small/*}"
    done
  else
    printf '%-12s | %-24s |\n' sanitizers "no compute-sanitizer" >>"$table"
  fi ;;
esac

# cuBLAS of the loader's path, of the CUDA toolkit, or of PyTorch's wheels.
find_cublas() {
  # shellcheck disable=SC2012
  ls /usr/local/cuda*/lib64/libcublas.so.1[123] /usr/lib/x86_64-linux-gnu/libcublas.so.1[123] \
    2>/dev/null | tail -n 1 | grep . ||
    find / -xdev -path '*nvidia*' -name 'libcublas.so.1[123]' 2>/dev/null | sort | tail -n 1
}
case " $wanted " in *" bench "*)
  cublas=$(find_cublas)
  # The libraries that cuBLAS itself needs lie beside it.
  LD_LIBRARY_PATH=$(dirname "${cublas:-.}")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
    step bench ./flashqla_bench --bundles bundles --csv "$out/gdn.csv" \
    ${cublas:+--libcublas "$cublas"}
  cat "$out/bench.log" ;;
esac

case " $wanted " in *" random "*)
  step random ./random_programs --gpu --out "$out/random" --workers "$(nproc)" \
    --seed "${RANDOM_SEED:-1}" --count "${RANDOM_COUNT:-3000}" --seconds "${RANDOM_SECONDS:-240}"
  [ ! -d "$out/random" ] || tar -cf "$out/random.tar" -C "$out" random ;;
esac

echo
cat "$table"
for log in "$out/tests.log" "$out/engines.log"; do
  [ ! -e "$log" ] || grep -E '^\[  FAILED  \]' "$log" | sort -u | head -n 40
done
exit $status
