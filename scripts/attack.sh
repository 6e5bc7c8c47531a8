#!/bin/sh
# Attacks the built program with hostile servers, archives, files, signals and limits, and writes what held to a table.
#
#   scripts/attack.sh [--program FILE] [--report FILE] [--quick] [--jobs N] [SECTION…]
#
# Sections: servers archives pairs kills images places. Each is a file of scripts/attack/ and adds rows to the table; a new one
# needs a file with a function `attack(harness)` and its name in SECTIONS of scripts/attack/main.py.
# Servers listen on the loopback only, all files are below one temporary folder, and each run of the program has a time limit.
# What this machine doesn't allow (groups of processes, another user) is skipped by name. Needs python3, nothing else.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
exec python3 "$here/attack/main.py" "$@"
