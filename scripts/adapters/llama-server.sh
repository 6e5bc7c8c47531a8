#!/usr/bin/env bash
# Starts llama-server (of setup.sh llamacpp) with given files on a port of this machine alone, and says when it is ready.
#
#   scripts/adapters/llama-server.sh MODEL.gguf [--mmproj PROJ.gguf] [--port N] [--threads N] [--context N]
#
# Port 0, the default, takes a free one. The first line on stdout is the address, printed once the model is loaded:
#   http://127.0.0.1:PORT
# It stays in the foreground and ends with its parent's signal; genbench speaks to it by --backend llama+http://127.0.0.1:PORT.
set -euo pipefail

[[ $# -gt 0 && $1 != -* ]] || { sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' >&2; exit 64; }
model=$1
shift
server=${LLAMA_SERVER:-${GENBENCH_CACHE:-$HOME/.cache/genbench}/bin/llama-server}
[[ -x $server ]] || { echo "llama-server isn't there; run scripts/adapters/setup.sh llamacpp" >&2; exit 69; }
[[ -f $model ]] || { echo "$model: no such file" >&2; exit 66; }
port=0 threads=$(getconf _NPROCESSORS_ONLN) context=2048 more=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --mmproj) more+=(--mmproj "$2") ;;
    --port) port=$2 ;;
    --threads) threads=$2 ;;
    --context) context=$2 ;;
    *) echo "unknown option $1" >&2; exit 64 ;;
  esac
  shift 2
done
if [[ $port == 0 ]]; then
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
fi
# One slot and no reuse of prompts: every request does the same work, and is alone.
"$server" --model "$model" --host 127.0.0.1 --port "$port" --threads "$threads" --ctx-size "$context" --parallel 1 --jinja \
  --no-webui --offline ${more[@]+"${more[@]}"} >&2 &
child=$!
trap 'kill "$child" 2>/dev/null' EXIT INT TERM
until python3 - "$port" <<'PY'
import sys, urllib.request
try:
    sys.exit(0 if urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/health", timeout=5).status == 200 else 1)
except OSError:
    sys.exit(1)
PY
do
  kill -0 "$child" 2>/dev/null || { wait "$child" || true; echo "llama-server ended before it was ready" >&2; exit 69; }
  sleep 0.2
done
echo "http://127.0.0.1:$port"
wait "$child"
