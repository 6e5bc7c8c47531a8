#!/usr/bin/env bash
# Tests the job files for Slurm with a real Slurm: one controller and two compute daemons on this host, on loopback only.
# Needs root on Debian; installs slurm-wlm and munge when they're missing. Everything else is in a temporary folder and is ended
# and removed at the end; a munge that runs already is used as it is.
#   scripts/slurm-test.sh [GENBENCH]       the program, by default .build/release/genbench or .build/debug/genbench
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export GENBENCH_HOME="$root"

say() { printf 'slurm-test: %s\n' "$*"; }
fail() { say "FAILED: $*"; exit 1; }

genbench="${1:-}"
for candidate in "$root/.build/release/genbench" "$root/.build/debug/genbench"; do
  [[ -n "$genbench" ]] || { [[ ! -x "$candidate" ]] || genbench="$candidate"; }
done
[[ -x "$genbench" ]] || fail "no genbench; build it, or give its path"
genbench="$(readlink -f "$genbench")"
((EUID == 0)) || fail "Slurm's daemons want root here"

if ! command -v slurmctld >/dev/null || ! command -v munged >/dev/null; then
  say "installing slurm-wlm and munge"
  export DEBIAN_FRONTEND=noninteractive
  # No daemon is to start by itself: this script brings its own configuration.
  policy=/usr/sbin/policy-rc.d
  if [[ ! -e "$policy" ]]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  fi
  apt-get install -y -q --no-install-recommends slurm-wlm munge >/dev/null
  rm -f "$policy"
  trap - EXIT
fi

work="$(mktemp -d /tmp/genbench-slurm.XXXXXX)"
chmod 755 "$work"
pids=()
finish() {
  local pid file
  for file in "$work"/slurmd-*.pid "$work/slurmctld.pid"; do
    if [[ -s "$file" ]]; then kill "$(cat "$file")" 2>/dev/null || true; fi
  done
  for pid in ${pids[@]+"${pids[@]}"}; do kill "$pid" 2>/dev/null || true; done
  # Steps end with their daemons; what still runs below the folder is theirs.
  sleep 1
  rm -rf "$work"
}
trap finish EXIT

# munge: an own one with an own key and socket.
install -d -o munge -g munge -m 700 "$work/munge"
dd if=/dev/urandom bs=1 count=1024 of="$work/munge/key" status=none
chown munge:munge "$work/munge/key"
chmod 400 "$work/munge/key"
install -d -o munge -g munge -m 755 "$work/munge-run"
runuser -u munge -- munged --foreground --key-file="$work/munge/key" --socket="$work/munge-run/socket" \
  --pid-file="$work/munge-run/munged.pid" --log-file="$work/munge-run/munged.log" --seed-file="$work/munge-run/seed" >/dev/null 2>&1 &
pids+=("$!")
for _ in $(seq 100); do
  [[ -S "$work/munge-run/socket" ]] && break
  sleep 0.1
done
[[ -S "$work/munge-run/socket" ]] || fail "munged doesn't start: $(cat "$work/munge-run/munged.log" 2>/dev/null)"

host="$(hostname -s)"
mkdir -p "$work/state" "$work/spool-n1" "$work/spool-n2"
cat >"$work/slurm.conf" <<CONF
ClusterName=genbench
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$work/munge-run/socket
CryptoType=crypto/munge
SlurmUser=root
StateSaveLocation=$work/state
SlurmctldPidFile=$work/slurmctld.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdPidFile=$work/slurmd-%n.pid
SlurmdLogFile=$work/slurmd-%n.log
SlurmdSpoolDir=$work/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=1 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=1 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
CONF
if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then plugin=autodetect; else plugin=cgroup/v1; fi
printf 'CgroupPlugin=%s\n' "$plugin" >"$work/cgroup.conf"
export SLURM_CONF="$work/slurm.conf"

slurmctld -D -f "$SLURM_CONF" >"$work/slurmctld.out" 2>&1 &
pids+=("$!")
for node in n1 n2; do
  slurmd -D -N "$node" -f "$SLURM_CONF" >"$work/slurmd-$node.out" 2>&1 &
  pids+=("$!")
done
ready() { [[ "$(sinfo --noheader --Node --format='%t' 2>/dev/null | grep -c '^idle')" == 2 ]]; }
for _ in $(seq 150); do
  ready && break
  sleep 0.2
done
ready || { tail -n 20 "$work"/*.log "$work"/*.out; fail "the two nodes don't come up"; }
say "two nodes are idle: $(sinfo --noheader --Node --format='%N' | sort -u | tr '\n' ' ')"

wait_for() { # job ids; until the queue has none of them
  for _ in $(seq 1200); do
    [[ -z "$(squeue --noheader --jobs="$1" 2>/dev/null || true)" ]] && return 0
    sleep 0.5
  done
  squeue
  fail "jobs $1 don't end"
}
options=(--variant sd15,sdxl --size 64 --steps 1,2 --prompts 1 --warmup 0 --no-plots)

# 1. The array over both nodes, and the merge that waits for it.
cd "$work"
export GENBENCH="$genbench"
"$genbench" run "${options[@]}" --emit slurm --shards 4 --out merged >array.sh
submitted="$(bash array.sh)"
say "$submitted"
array="$(sed -n 's/^array \([0-9]*\), merge.*/\1/p' <<<"$submitted")"
merge="$(sed -n 's/.*merge \([0-9]*\)$/\1/p' <<<"$submitted")"
nodes() { # of a finished array, which the controller still knows
  scontrol show job "$1" 2>/dev/null | sed -n 's/^ *BatchHost=\(.*\)/\1/p' | sort -u | tr '\n' ' '
}
wait_for "$array,$merge"
used="$(nodes "$array")"
[[ -f merged/run.json ]] || { cat merged-parts/*.log; fail "no merged run"; }
"$genbench" run "${options[@]}" --out whole >/dev/null 2>&1
ids() { python3 -c 'import json,sys; print(*sorted(c["case_id"] for c in json.load(open(sys.argv[1]))["cases"]))' "$1"; }
[[ "$(ids merged/run.json)" == "$(ids whole/run.json)" ]] || fail "merged: $(ids merged/run.json), whole: $(ids whole/run.json)"
[[ "$used" == *n1* && "$used" == *n2* ]] || fail "the array ran on '$used', not on both nodes"
say "four parts on $used make the whole: $(ids merged/run.json)"

# 2. A part that fails: sbatch --wait tells it, and the merge never starts.
"$genbench" run --model "$work/nowhere" --prompts 1 --no-plots --emit slurm --shards 2 --out broken >broken.sh
submitted="$(bash broken.sh)"
array="$(sed -n 's/^array \([0-9]*\), merge.*/\1/p' <<<"$submitted")"
merge="$(sed -n 's/.*merge \([0-9]*\)$/\1/p' <<<"$submitted")"
wait_for "$array,$merge"
[[ ! -e broken ]] || fail "the merge ran although its parts failed"
grep -q "exit 66" broken-parts/1.log || { cat broken-parts/1.log; fail "the failing part doesn't say why"; }
say "a failing part stops the merge, and says: $(tail -n 1 broken-parts/1.log)"
if sbatch --wait --output="$work/wait.log" --wrap "$genbench run --model $work/nowhere --out $work/x" >/dev/null 2>&1; then
  fail "sbatch --wait says that a failing task is well"
fi

# 3. --shard auto reads what Slurm says.
sbatch --wait --array=0-1 --output="$work/auto-%a.log" --wrap \
  "$genbench run ${options[*]} --shard auto --out $work/auto-\$SLURM_ARRAY_TASK_ID" >/dev/null
"$genbench" run --no-plots --out auto --merge auto-0 --merge auto-1 >/dev/null 2>&1 || fail "the parts of --shard auto don't merge"
[[ "$(ids auto/run.json)" == "$(ids whole/run.json)" ]] || fail "--shard auto lost cases"
say "--shard auto finds its part"
say "passed"
