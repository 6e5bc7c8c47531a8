#!/usr/bin/env bash
# Installs what the build needs beside the Swift toolchain: C libraries, gnuplot, pkg-config.
# Debian and Ubuntu: installs only what is missing, as root or with sudo. macOS: prints the Homebrew line.
set -euo pipefail

debian_packages=(
  pkg-config
  libpng-dev           # PNG out
  libturbojpeg0-dev    # JPEG in
  libsqlite3-dev       # history of runs
  libarchive-dev       # model archives
  libmicrohttpd-dev    # the server
  gnuplot-nox          # plots; a run without it says so and still succeeds
)
brew_formulae=(pkgconf libpng jpeg-turbo sqlite libarchive libmicrohttpd gnuplot)
least_swift="6.2"

say() { printf 'bootstrap: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# Is version $1 at least version $2?
at_least() {
  local -a have want
  IFS=. read -r -a have <<<"$1"
  IFS=. read -r -a want <<<"$2"
  local i
  for i in 0 1 2; do
    if ((${have[i]:-0} > ${want[i]:-0})); then return 0; fi
    if ((${have[i]:-0} < ${want[i]:-0})); then return 1; fi
  done
  return 0
}

install_debian() {
  local missing=() package
  for package in "${debian_packages[@]}"; do
    # `installed` must be the whole third word: a removed package is "deinstall ok config-files".
    if [[ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)" != *" ok installed" ]]; then
      missing+=("$package")
    fi
  done
  # Newer releases have pkgconf, which provides the command, in the place of pkg-config.
  if command -v pkg-config >/dev/null; then
    local kept=()
    for package in ${missing[@]+"${missing[@]}"}; do [[ "$package" == pkg-config ]] || kept+=("$package"); done
    missing=(${kept[@]+"${kept[@]}"})
  fi
  if ((${#missing[@]} == 0)); then
    say "all ${#debian_packages[@]} packages are installed"
    return
  fi
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "not root and no sudo; as root, run: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  # An incomplete index (one unreachable source) may still hold what is needed: the install decides.
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2 || say "apt-get update failed; going on"
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
}

install_macos() {
  say "the libraries come from Homebrew:"
  printf 'brew install %s\n' "${brew_formulae[*]}"
  command -v brew >/dev/null || fail "brew isn't there (https://brew.sh); run the line above once it is"
  local missing=() formula installed
  installed="$(brew list --formula -1)"
  for formula in "${brew_formulae[@]}"; do
    grep -qx "$formula" <<<"$installed" || missing+=("$formula")
  done
  if ((${#missing[@]} > 0)); then fail "not installed yet: ${missing[*]}; run the line above"; fi
}

case "$(uname -s)" in
  Darwin) install_macos ;;
  Linux)
    if command -v apt-get >/dev/null; then
      install_debian
    else
      say "not a Debian system: install these libraries with your package manager (Debian's names): ${debian_packages[*]}"
    fi
    ;;
  *) fail "$(uname -s) isn't supported: Linux and macOS are" ;;
esac

command -v swift >/dev/null || fail "swift isn't on the PATH; install Swift $least_swift or newer from https://www.swift.org/install"
version="$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)"
[[ -n "$version" ]] || fail "can't read the version that 'swift --version' prints"
at_least "$version" "$least_swift" || fail "Swift: expected $least_swift or newer, found $version; see https://www.swift.org/install"
say "Swift $version; ready"
