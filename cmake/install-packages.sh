#!/usr/bin/env bash
# Installs those of the needed Debian packages that are missing, as root or through sudo. Does nothing if none is.
# usage: install-packages.sh [package…]    (the packages given are installed as well)
set -euo pipefail

packages=(
  # The build: cmake's generator, the compiler, the linker, its cache.
  cmake ninja-build ccache clang-22 lld-22
  # MLIR and LLVM, and lld as a library; their CMake files name zlib and zstd.
  libmlir-22-dev mlir-22-tools llvm-22-dev liblld-22-dev zlib1g-dev libzstd-dev
  # Packages of compiled models, config.json, dense products.
  flatbuffers-compiler libflatbuffers-dev nlohmann-json3-dev libdnnl-dev
  # The tests: lit and FileCheck, GoogleTest, and the sanitizers' and fuzzer's runtime.
  llvm-22-tools libgtest-dev libgmock-dev libclang-rt-22-dev python3
  "$@"
)
# What the build makes use of where it is: the planner's linear programs.
optional=(coinor-libclp-dev)

if ! command -v dpkg-query >/dev/null; then
  echo "no dpkg here, so no packages are installed; needed are: ${packages[*]}" >&2
  exit 0
fi

find_missing() {
  for package in "$@"; do
    status=$(dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | sort -u || true)
    [[ $status == installed ]] || echo "$package"
  done
}
mapfile -t missing < <(find_missing "${packages[@]}")
mapfile -t missing_optional < <(find_missing "${optional[@]}")
[[ ${#missing[@]} -eq 0 && ${#missing_optional[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    [[ ${#missing[@]} -eq 0 ]] && exit 0
    echo "packages are missing and there is neither root nor sudo; run as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
fail() {
  tail -n 30 "$log" >&2
  echo "$1" >&2
  exit 1
}

install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >"$log" 2>&1
}

install_optional() {
  [[ ${#missing_optional[@]} -eq 0 ]] && return
  echo "Installing optional Debian packages: ${missing_optional[*]}"
  install "${missing_optional[@]}" || echo "not installed; the build does without: ${missing_optional[*]}" >&2
}

if [[ ${#missing[@]} -eq 0 ]]; then
  "${as_root[@]}" apt-get update >"$log" 2>&1 || true
  install_optional
  exit 0
fi

echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
"${as_root[@]}" apt-get update >"$log" 2>&1 || fail "apt-get update failed"

candidate=$(apt-cache policy libmlir-22-dev)
if [[ $candidate != *"Candidate: "[0-9]* ]]; then
  echo "apt has no MLIR 22: it is in Debian 12's security source (deb http://deb.debian.org/debian-security" \
    "bookworm-security main); add that, or the llvm-toolchain-bookworm-22 source of https://apt.llvm.org" >&2
  exit 1
fi
install "${missing[@]}" || fail "apt-get install failed; wanted were: ${missing[*]}"
install_optional
