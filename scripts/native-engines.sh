# Sourced by scripts that build llama.cpp and stable-diffusion.cpp from the sources in their PyPI packages.
# Needs `python` (an environment's interpreter with cmake and ninja beside it), `folder` (where to unpack and build) and a C++ compiler.

llama="llama_cpp_python==0.3.36"
diffusion="stable_diffusion_cpp_python==0.4.7"

# Unpacks the source package of $1 (name==version) and prints its folder.
unpack() {
  local name=${1%%==*} version=${1##*==}
  if [[ ! -d "$folder/$name-$version" ]]; then
    "$python" -m pip --quiet --disable-pip-version-check download --no-deps --no-binary :all: --no-build-isolation \
      --dest "$folder" "${name//_/-}==$version" >&2
    tar -xzf "$folder/$name-$version.tar.gz" -C "$folder"
    rm "$folder/$name-$version.tar.gz"
  fi
  printf '%s\n' "$folder/$name-$version"
}

# Builds the CMake project $1 into $2: the options from $3 on up to `--`, then the targets.
build() {
  local source=$1 target=$2
  shift 2
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  PATH="$(dirname "$python"):$PATH" cmake -S "$source" -B "$target" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON \
    -DBUILD_SHARED_LIBS=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF "${options[@]}" >"$target.log" 2>&1 || {
    tail -20 "$target.log" >&2
    exit 70
  }
  PATH="$(dirname "$python"):$PATH" nice -n 10 cmake --build "$target" -j "$(getconf _NPROCESSORS_ONLN)" --target "$@" >>"$target.log" 2>&1 || {
    tail -20 "$target.log" >&2
    exit 70
  }
}

# The file $2 somewhere under $1 becomes $3/$2.
publish() { ln -sf "$(find "$1" -type f -name "$2" | head -1)" "$3/$2"; }
