#!/bin/bash
# Runs plan, shards and merge on a real Slurm with four nodes on this machine, and kills nodes and tasks.
# Needs root.
# usage: scripts/test-slurm.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
if ! command -v slurmctld >/dev/null; then
  "$root/scripts/bootstrap.sh" slurm || {
    echo "test-slurm: Slurm cannot be installed here, so nothing is tested" >&2
    exit 0
  }
fi
work=$(mktemp -d)
export SLURM_CONF=$work/slurm.conf
node_count=4

# Prints the processes that have a line in their environment.
with() {
  for process in /proc/[0-9]*; do
    # A process may have ended, and another user's cannot be read.
    { words=$(tr '\0' '\n' <"$process/environ"); } 2>/dev/null || continue
    if grep -qxF "$1" <<<"$words"; then echo "${process#/proc/}"; fi
  done
}

# Ends the daemons that this script started, by the process numbers in their files.
stop() {
  scancel --quiet --name=batchproc-plan,batchproc-shard,batchproc-merge 2>/dev/null || true
  for file in "$work"/slurmd-*.pid "$work/slurmctld.pid" "$work/munged.pid"; do
    if [ -s "$file" ]; then kill "$(cat "$file")" 2>/dev/null || true; fi
  done
  sleep 1
  # Steps whose slurmd was killed.
  for process in $(with "SLURM_CONF=$SLURM_CONF"); do
    if [ "$(cat "/proc/$process/comm" 2>/dev/null)" = slurmstepd ]; then kill -9 "$process" 2>/dev/null || true; fi
  done
  # Files that are still written are removed with the folder.
  rm -rf "$work"
}
trap stop EXIT

start() {
  mkdir -p "$work/state"
  # A separate munge, so that no key or socket of this machine is used.
  mkdir -m 755 "$work/munge"
  dd if=/dev/urandom of="$work/munge/key" bs=1024 count=1 status=none
  chown -R munge: "$work/munge"
  chmod 400 "$work/munge/key"
  chmod 711 "$work"
  touch "$work/munged.pid" && chown munge: "$work/munged.pid"
  runuser -u munge -- munged --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
    --log-file="$work/munge/log" --seed-file="$work/munge/seed"
  ln -sf munge/pid "$work/munged.pid"
  local host ports
  host=$(hostname -s)
  ports="[18001-$((18000 + node_count))]"
  cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=18000
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=0,requeue_delay=1
SlurmctldParameters=idle_on_node_suspend
SlurmdTimeout=5
KillWait=1
MinJobAge=300
ReturnToService=2
MpiDefault=none
JobRequeue=1
NodeName=n[1-$node_count] NodeHostname=$host NodeAddr=127.0.0.1 Port=$ports CPUs=2 State=UNKNOWN
PartitionName=main Nodes=n[1-$node_count] Default=YES MaxTime=INFINITE State=UP
CONF
  slurmctld
  sleep 1
  for node in $(seq "$node_count"); do slurmd -N "n$node"; done
  for _ in $(seq 120); do
    [ "$(sinfo -h -N -t idle -o %N | wc -l)" = "$node_count" ] && return
    sleep 0.25
  done
  echo "test-slurm: not all nodes are idle" >&2
  exit 1
}

fail() {
  echo "test-slurm: $*" >&2
  tail -n 20 "$work"/plan*.logs/*.log >&2 || true
  exit 1
}

# Ends a node, with the tasks that have its name in their environment.
kill_node() {
  kill -9 "$(cat "slurmd-$1.pid")"
  for process in $(comm -12 <(with "SLURMD_NODENAME=$1" | sort) <(with "SLURM_CONF=$SLURM_CONF" | sort)); do
    kill -9 "$process" 2>/dev/null || true
  done
}

# Sets the numbers of the jobs from the answer of a submission, and waits until four tasks run.
await_tasks() {
  merge=$(sed -n 's/.*merge \([0-9]*\).*/\1/p' "$1")
  array=$(sed -n 's/.*shards \([0-9]*\).*/\1/p' "$1")
  if [ -z "$merge" ] || [ -z "$array" ]; then fail "the answer names no jobs: $(cat "$1")"; fi
  for _ in $(seq 100); do
    [ "$(squeue -h -r -j "$array" -t running | wc -l)" -ge 4 ] && break
    sleep 0.1
  done
}

await_merge() {
  for _ in $(seq 600); do
    [ -z "$(squeue -h -j "$merge" 2>/dev/null)" ] && break
    sleep 0.2
  done
}

start
cd "$work"
mkdir tree
for folder in $(seq 40); do
  mkdir "tree/$folder"
  for file in $(seq 50); do head -c $((file * 700)) /dev/urandom >"tree/$folder/$file"; done
  ln "tree/$folder/7" "tree/$folder/zz"
done
ln tree/1/1 tree/zz
truncate -s 5M tree/sparse
echo end >>tree/sparse

echo "test-slurm: a manifest by 16 tasks"
"$program" hash -q -o one.sha256 tree
"$program" submit --slurm --shards 16 --dir plan1 --run --wait -- hash --stride 8 -o many.sha256 tree || fail "submit: $?"
cmp one.sha256 many.sha256 || fail "the manifest differs"

echo "test-slurm: rows go into the result of the plan, and messages into the log"
"$program" submit --slurm --shards 4 --dir plan0 --run --wait -- hash --stride 8 tree >answer 2>&1 || fail "submit: $?"
sort plan0/result | cmp - <(sort one.sha256) || fail "the result differs"
grep -qF "logs in $work/plan0.logs" answer || fail "the answer names no logs: $(cat answer)"
grep -qF "result in $work/plan0/result" answer || fail "the answer names no result: $(cat answer)"
grep -q 'plan [0-9]*, shards [0-9]*, merge [0-9]*' answer || fail "the answer names no jobs: $(cat answer)"
grep -q 'merged' plan0.logs/merge.log || fail "the log of the merge has no summary"
if [ ! -e plan0.logs/merge.out ] || [ -s plan0.logs/merge.out ]; then fail "merge.out is missing or not empty"; fi

echo "test-slurm: an archive by 16 tasks, while a node dies, a task is killed and another one is requeued"
"$program" archive -q --stride 8 -o one.tar.zst tree
# A wrapper that delays each shard by two seconds, so that tasks can be killed while they run.
cat >slow <<END
#!/bin/sh
case "\$*" in *--shard*) sleep 2; exec "$program" "\$@" ;; esac
exec "$program" "\$@"
END
chmod +x slow
"$program" submit --slurm --shards 16 --dir plan2 -- archive --stride 8 -o many.tar.zst tree |
  sed "s|^program=.*|program=$work/slow|" >script
sh script >ids
await_tasks ids
kill_node n2
task=$(squeue -h -r -j "$array" -t running -w n1,n3,n4 -o %i | head -n 1)
[ -n "$task" ] || fail "no task runs"
scontrol requeue "$task" || true
other=$(squeue -h -r -j "$array" -t running -w n1,n3,n4 -o %i | head -n 1)
# Kills the shell of another task and its program.
if [ -n "$other" ]; then scancel --signal=KILL --full "$other" || true; fi
await_merge
"$program" status plan2 || true
if [ ! -e many.tar.zst ]; then
  # A task that was killed has no result. The merge must have named it; then all shards are run again.
  grep -q 'is missing' plan2.logs/merge.log || fail "the merge did not name the missing shard"
  for shard in $(seq 0 15); do "$program" archive -q --plan plan2 --shard "$shard" || fail "shard $shard: $?"; done
  "$program" merge plan2 || fail "merge: $?"
fi
cmp one.tar.zst many.tar.zst || fail "the archive differs"
"$program" verify -q many.tar.zst || fail "verify: $?"

echo "test-slurm: a command for each file by 16 tasks, while a node dies"
# shellcheck disable=SC2016
command=(sh -c 'cp "$1" "$2"; echo "$1"' x '{}' '{out}')
"$program" run -q --suffix .o --output-dir one tree -- "${command[@]}" >one.rows
"$program" submit --slurm --shards 16 --dir plan3 -- run --suffix .o --output-dir many tree -- "${command[@]}" |
  sed "s|^program=.*|program=$work/slow|" >script
sh script >ids
await_tasks ids
kill_node n3
await_merge
"$program" status plan3 || true
if grep -q 'is missing' plan3.logs/merge.log; then
  for shard in $(seq 0 15); do "$program" run -q --plan plan3 --shard "$shard" >/dev/null || fail "shard $shard: $?"; done
fi
"$program" merge -q plan3 || fail "merge: $?"
# A folder of a task that was killed stays until a run writes beside it.
diff -r -x '.batchproc-*' one many || fail "the outputs differ"
echo "test-slurm: passed"
