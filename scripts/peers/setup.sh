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
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
python="$folder/venv/bin/python"
# shellcheck source=scripts/native-engines.sh
source "$here/../native-engines.sh"

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

say "llama.cpp (${llama##*==} of its Python package)"
source=$(unpack "$llama")
build "$source/vendor/llama.cpp" "$folder/build-llama" -DLLAMA_BUILD_SERVER=OFF -- llama-bench llama-mtmd-cli llama-completion
for name in llama-bench llama-mtmd-cli llama-completion; do publish "$folder/build-llama" "$name" "$folder"; done

say "stable-diffusion.cpp (${diffusion##*==} of its Python package)"
source=$(unpack "$diffusion")
build "$source/vendor/stable-diffusion.cpp" "$folder/build-sd" -DSD_BUILD_EXAMPLES=ON -- sd-cli
publish "$folder/build-sd" sd-cli "$folder"

say "ready in $folder"
