#!/usr/bin/env bash
# Sets up engines for the adapters beside this file: an environment of pinned packages each, and builds from source where
# the engine is C++.
#
#   scripts/adapters/setup.sh diffusers|openvino|onnxruntime|sdcpp|llamacpp|export|coreml|all ...
#
# Everything goes to ${GENBENCH_CACHE:-$HOME/.cache/genbench}: venvs/NAME/bin/python runs the adapter of that name, bin/ holds
# sd-server and llama-server, lib/ libstable-diffusion. Needs python3 with venv; sdcpp and llamacpp a C++ compiler (10 and 15
# minutes on two cores). `export` is optimum-intel, which needs packages that are older than the others'.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${GENBENCH_CACHE:-$HOME/.cache/genbench}
mkdir -p "$cache/venvs" "$cache/bin" "$cache/lib"
cache=$(cd "$cache" && pwd)
folder="$cache/src"
mkdir -p "$folder"
# shellcheck source=scripts/native-engines.sh
source "$here/../native-engines.sh"

say() { printf 'adapters: %s\n' "$*" >&2; }

# An environment with the packages of requirements-$1.txt; `python` is its interpreter afterwards.
environment() {
  python="$cache/venvs/$1/bin/python"
  local wanted
  wanted=$(cat "$here/requirements-$1.txt")
  if [[ -x "$python" && "$(cat "$cache/venvs/$1/installed" 2>/dev/null)" == "$wanted" ]]; then return; fi
  say "$1: packages"
  [[ -x "$python" ]] || python3 -m venv "$cache/venvs/$1"
  "$python" -m pip --quiet --disable-pip-version-check install -r "$here/requirements-$1.txt"
  # It comes along with optimum-intel, built for another torch, and transformers stumbles over it. Nothing here needs it.
  "$python" -m pip --quiet --disable-pip-version-check uninstall -y torchvision 2>/dev/null || true
  printf '%s\n' "$wanted" >"$cache/venvs/$1/installed"
}

sdcpp() {
  environment sdcpp
  say "stable-diffusion.cpp (${diffusion##*==} of its Python package)"
  local source
  source=$(unpack "$diffusion")
  build "$source/vendor/stable-diffusion.cpp" "$folder/build-sdcpp" -DSD_BUILD_SHARED_LIBS=ON -DSD_BUILD_EXAMPLES=ON -- stable-diffusion sd-server
  publish "$folder/build-sdcpp" sd-server "$cache/bin"
  publish "$folder/build-sdcpp" "libstable-diffusion.$([[ $(uname) == Darwin ]] && echo dylib || echo so)" "$cache/lib"
  cp "$source/vendor/stable-diffusion.cpp/include/stable-diffusion.h" "$cache/lib/"
}

llamacpp() {
  environment sdcpp
  say "llama.cpp (${llama##*==} of its Python package)"
  local source
  source=$(unpack "$llama")
  build "$source/vendor/llama.cpp" "$folder/build-llamacpp" -DLLAMA_BUILD_SERVER=ON -- llama-server
  publish "$folder/build-llamacpp" llama-server "$cache/bin"
}

[[ $# -gt 0 ]] || { sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' >&2; exit 64; }
wanted=("$@")
[[ $1 != all ]] || wanted=(diffusers openvino export onnxruntime sdcpp llamacpp)
for name in "${wanted[@]}"; do
  case $name in
    diffusers | openvino | onnxruntime | export | coreml) environment "$name" ;;
    sdcpp | llamacpp) "$name" ;;
    *)
      say "no engine '$name'; there are diffusers, openvino, export, onnxruntime, sdcpp, llamacpp, coreml"
      exit 64
      ;;
  esac
done
say "ready in $cache"
