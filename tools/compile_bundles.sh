#!/bin/sh
# Compiles the kernels that binaries ask for (their --list-bundles) to .fqb files.
#
#   tools/compile_bundles.sh [--if-gpu] FLASHQLAC OUT_DIR BINARY...
#
# Bundles that are newer than their source and than flashqlac are left alone. Compiler messages go to
# OUT_DIR/logs. --if-gpu: does nothing where there is no NVIDIA device. Exit status 1 if a kernel
# failed; the others are compiled all the same.
set -eu
if [ "${1:-}" = --if-gpu ]; then
  shift
  [ -e /dev/nvidiactl ] || exit 0
fi
[ $# -ge 3 ] || { sed -n '2,9p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
flashqlac=$(realpath "$1")
mkdir -p "$2/logs"
out=$(realpath "$2")
shift 2
list=$out/logs/list
for binary in "$@"; do "$binary" --list-bundles; done | sort -u >"$list"

cd "$root"
start=$(date +%s)
failures=$out/logs/failures
: >"$failures"
export root flashqlac out
# A line is NAME<tab>FILE -k KERNEL -D NAME=VALUE ...
# shellcheck disable=SC2016 # expanded by the inner shell
tr '\n' '\0' <"$list" | xargs -0 -P "$(nproc)" -I LINE sh -c '
  name=${1%%	*} arguments=${1#*	}
  bundle=$out/$name source=$root/${arguments%% *} log=$out/logs/${name%.fqb}.log
  [ -e "$bundle" ] && [ "$bundle" -nt "$source" ] && [ "$bundle" -nt "$flashqlac" ] && exit 0
  "$flashqlac" compile $arguments -o "$bundle" >"$log" 2>&1 && exit 0
  rm -f "$bundle"
  { echo "$name: $log"; grep -m 3 error "$log" || tail -n 3 "$log"; } >>"$out/logs/failures"
' sh LINE
total=$(wc -l <"$list")
made=$(cut -f1 "$list" | while read -r name; do [ ! -e "$out/$name" ] || echo; done | wc -l)
echo "$made of $total bundles in $out ($(($(date +%s) - start)) s)"
cat "$failures"
[ "$made" = "$total" ]
