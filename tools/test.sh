#!/bin/sh
# Builds everything with warnings as errors and runs the tests. Tests that need a GPU are skipped, and
# counted as skipped, where there is none.
#
#   tools/test.sh [ARGUMENTS OF CTEST]        such as -R syntax
set -eu
cd "$(dirname "$0")/.."
. tools/dependencies.sh
fq_dependencies
cmake --preset ci
cmake --build --preset ci
exec ctest --preset ci "$@"
