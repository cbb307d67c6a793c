# What building needs, on Debian and its relatives. Sourced by quickstart.sh and test.sh, which have
# changed to the root of the tree. After `fq_dependencies` the build can be configured; where CUDA came
# from wheels, FLASHQLA_LIBNVRTC names their NVRTC.
# shellcheck shell=sh

fq_packages="g++ cmake ninja-build ccache mold libmlir-22-dev mlir-22-tools llvm-22-dev libfmt-dev
libcli11-dev nlohmann-json3-dev libxxhash-dev libgtest-dev libboost-context-dev"
# CUDA 13.0, where there is no toolkit: NVRTC with its library, and cuda.h.
fq_wheels="nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96"
fq_cuda=build/cuda

fq_say() { printf '%s: %s\n' "$(basename "$0")" "$*"; }
fq_die() {
  fq_say "$*" >&2
  exit 1
}

# The packages of a list that are not installed.
fq_missing() {
  for package in "$@"; do
    case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) in
      installed) ;;
      *) printf ' %s' "$package" ;;
    esac
  done
}

# Installs packages, or says which line does.
fq_install() {
  missing=$(fq_missing "$@")
  [ -n "$missing" ] || return 0
  command="apt-get install -y --no-install-recommends$missing"
  if [ "$(id -u)" = 0 ]; then
    become=
  elif sudo -n true 2>/dev/null; then
    become="sudo"
  else
    fq_die "packages are missing; install them with
  sudo apt-get update && sudo $command"
  fi
  fq_say "installing$missing"
  export DEBIAN_FRONTEND=noninteractive
  $become apt-get update -qq || fq_die "apt-get update failed"
  for package in $missing; do
    apt-cache show "$package" >/dev/null 2>&1 ||
      fq_die "this distribution has no package $package: see \"Requirements\" in README.md"
  done
  # shellcheck disable=SC2086 # a list
  $become $command >build/apt.log 2>&1 || {
    tail -n 20 build/apt.log >&2
    fq_die "apt-get install failed"
  }
}

# Whether a CUDA toolkit of 12.8 or newer, or packages of one, provide the headers and NVRTC. Where NVRTC
# lies in a place that flashqlac does not search, FLASHQLA_LIBNVRTC names it.
fq_has_toolkit() {
  for folder in "${CUDA_PATH:-/nowhere}" "${CUDA_HOME:-/nowhere}" /usr/local/cuda /usr; do
    [ -e "$folder/include/cudaTypedefs.h" ] || continue
    version=$(sed -n 's/^#define CUDA_VERSION  *\([0-9]*\).*/\1/p' "$folder/include/cuda.h")
    [ "${version:-0}" -ge 12080 ] || continue
    library=libnvrtc.so.$((version / 1000))
    [ -z "${FLASHQLA_LIBNVRTC:-}" ] || return 0
    # /sbin is not on the PATH of users.
    PATH=$PATH:/sbin ldconfig -p 2>/dev/null | grep -qF "$library " && return 0
    if [ -e "$folder/lib64/$library" ]; then
      [ "$folder" = /usr/local/cuda ] || export FLASHQLA_LIBNVRTC="$folder/lib64/$library"
      return 0
    fi
  done
  return 1
}

# Whether the wheels of this list lie in build/cuda.
fq_has_wheels() { [ "$(cat "$fq_cuda/complete" 2>/dev/null)" = "$fq_wheels" ]; }

# NVRTC and the headers from their wheels, in build/cuda/include and build/cuda/lib.
fq_cuda_wheels() {
  if ! fq_has_wheels; then
    fq_say "no CUDA toolkit of 12.8 or newer: fetching NVRTC and the headers as Python wheels"
    python3 -m venv "$fq_cuda/venv" || fq_die "python3 cannot make a virtual environment"
    # shellcheck disable=SC2086 # a list
    "$fq_cuda/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --upgrade \
      --target "$fq_cuda/wheels" $fq_wheels || fq_die "the wheels could not be installed"
    for folder in include lib; do
      ln -sfn "wheels/nvidia/cu13/$folder" "$fq_cuda/$folder"
    done
    for file in include/cudaTypedefs.h lib/libnvrtc.so.13; do
      [ -e "$fq_cuda/$file" ] || fq_die "the wheels lack $file"
    done
    printf '%s\n' "$fq_wheels" >"$fq_cuda/complete"
  fi
  FLASHQLA_LIBNVRTC=$PWD/$fq_cuda/lib/libnvrtc.so.13
  export FLASHQLA_LIBNVRTC
}

fq_dependencies() {
  mkdir -p build
  packages=$fq_packages
  fq_has_toolkit || fq_has_wheels || packages="$packages python3 python3-venv"
  if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
    # shellcheck disable=SC2086 # a list
    fq_install $packages
  else
    fq_say "no apt here; what is needed stands in README.md under \"Requirements\""
  fi
  fq_has_toolkit || fq_cuda_wheels
}
