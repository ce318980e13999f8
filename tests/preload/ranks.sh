# SPDX-License-Identifier: MIT
# Ranks of one node on the engine: by mpirun if it is installed, and by the Slurm jobs of examples/.
. "$srcdir/tests/preload/lib"
needs_plain_library
has_engine || skip "built without CUDA"
for variable in $(env | sed -n 's/^\(\(XGEMM\|SLURM\|OMPI\|PMI\)_[A-Z_]*\)=.*/\1/p'); do
    unset "$variable"
done
unset LD_PRELOAD
compile $XG_BLAS_CFLAGS -o "$tmp/solver" "$srcdir/tests/install/program.c" $XG_BLAS_LIBS
run=$builddir/tools/xgemm-run
export XGEMM_MODE=gpu LD_LIBRARY_PATH="$XG_FAKEDRV_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" OPENBLAS_NUM_THREADS=1
ranks=4

# right_each WHAT FILE LOG: each rank's answer is right, and each reports one product on the GPU.
right_each() {
    [ "$(grep -c '^right$' "$2")" = $ranks ] || fail_with "$1: not $ranks right answers" "$2"
    [ "$(grep -c 'xgemm: 1 product.*; 1 on the GPU, 0 on the CPU' "$3")" = $ranks ] ||
        fail_with "$1: not $ranks accounts of a product on the GPU" "$3"
}

# as_ranks COMMAND...: starts ranks with the variables that mpirun sets.
as_ranks() {
    rank=0
    while [ $rank -lt $ranks ]; do
        OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_LOCAL_RANK=$rank OMPI_COMM_WORLD_SIZE=$ranks \
            OMPI_COMM_WORLD_LOCAL_SIZE=$ranks "$@" &
        rank=$((rank + 1))
    done
    wait
}
mpi=as_ranks
if mpirun --version >/dev/null 2>&1; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    mpirun -n $ranks true >"$tmp/out" 2>&1 && mpi="mpirun -n $ranks"
fi

XGEMM_STATS=1 XGEMM_LOG=$tmp/behind $mpi "$run" "$tmp/solver" >"$tmp/out" 2>"$tmp/err" ||
    fail "behind mpirun: exit status $?"
right_each "behind $mpi" "$tmp/out" "$tmp/behind"
for rank in 0 1 2 3; do
    grep -q "^xgemm: rank $rank, process [0-9]*:$" "$tmp/behind" || fail_with "behind $mpi: no rank $rank" "$tmp/behind"
done
if [ "$mpi" != as_ranks ]; then
    XGEMM_STATS=1 XGEMM_LOG=$tmp/before "$run" $mpi "$tmp/solver" >"$tmp/out" 2>"$tmp/err" ||
        fail "in front of mpirun: exit status $?"
    right_each "in front of $mpi" "$tmp/out" "$tmp/before"
    if "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
        "$run" report -o "$tmp/page.html" $mpi "$tmp/solver" >"$tmp/out" 2>&1 || fail "report: exit status $?"
        grep -q "$ranks processes" "$tmp/page.html" || fail "report: the page is not of $ranks processes"
    fi
fi

# Without a setting the ranks take the node's devices in turn, and share their memory.
FAKECUDA_DEVICES=2 XGEMM_VERBOSE=2 XGEMM_LOG=$tmp/devices $mpi "$run" "$tmp/solver" >"$tmp/out" 2>"$tmp/err" ||
    fail "on two devices: exit status $?"
for rank in 0 1 2 3; do
    grep -q "device $((rank % 2)) of 2, by [A-Z_]*=$rank; 2 ranks of this node" "$tmp/devices" ||
        fail_with "on two devices: rank $rank" "$tmp/devices"
done
whole=$(env FAKECUDA_DEVICES=2 XGEMM_VERBOSE=2 "$run" "$tmp/solver" 2>&1 | sed -n 's/.*multiprocessors, \(.*\) GB to use$/\1/p')
shared=$(sed -n 's/.*multiprocessors, \(.*\) GB to use$/\1/p' "$tmp/devices" | sort -u)
[ "$(awk "BEGIN { print ($shared - $whole / 2 < 0.06 && $whole / 2 - $shared < 0.06) }")" = 1 ] ||
    fail "on two devices: $shared GB of $whole GB for two ranks a device"
# XGEMM_DEVICES wins over the rank, and a rank that sees only one device has it alone.
rm -f "$tmp/devices"
FAKECUDA_DEVICES=2 XGEMM_DEVICES=1 XGEMM_VERBOSE=2 XGEMM_LOG=$tmp/devices $mpi "$run" "$tmp/solver" >"$tmp/out" 2>&1
grep -q "of 2, by" "$tmp/devices" && fail "XGEMM_DEVICES: the rank still counts"
rm -f "$tmp/devices"
CUDA_VISIBLE_DEVICES=0 XGEMM_VERBOSE=2 XGEMM_LOG=$tmp/devices $mpi "$run" "$tmp/solver" >"$tmp/out" 2>&1
[ "$(grep -c 'device 0 of 1, by .*; 1 rank of' "$tmp/devices")" = $ranks ] || fail "one visible device: it is shared"

# Slurm's jobs, with an srun that starts as many tasks as the job asks for.
mkdir "$tmp/bin" "$tmp/job"
ln -s "$(cd "$builddir" && pwd)/tools/xgemm-run" "$tmp/bin/xgemm-run"
cat >"$tmp/bin/srun" <<'SH'
#!/bin/sh
pids=
task=0
while [ $task -lt "$SLURM_NTASKS" ]; do
    SLURM_PROCID=$task SLURM_LOCALID=$task "$@" &
    pids="$pids $!"
    task=$((task + 1))
done
status=0
for pid in $pids; do
    wait "$pid" || status=$?
done
echo "$SRUN_CPUS_PER_TASK $CUDA_MPS_PIPE_DIRECTORY $XGEMM_MEM_LIMIT" >"$SLURM_SUBMIT_DIR/srun"
exit $status
SH
cat >"$tmp/bin/nvidia-cuda-mps-control" <<'SH'
#!/bin/sh
[ -d "$CUDA_MPS_PIPE_DIRECTORY" ] || exit 9
case ${1-} in
-d) echo started >>"$SLURM_SUBMIT_DIR/mps" ;;
*) cat >>"$SLURM_SUBMIT_DIR/mps" ;;
esac
SH
chmod +x "$tmp/bin/srun" "$tmp/bin/nvidia-cuda-mps-control"

# job NAME STATUS COMMAND...: runs the job as sbatch does, with what it asks of sbatch.
job() {
    job_name=$1
    job_status=$2
    shift 2
    tasks=$(sed -n 's/^#SBATCH --ntasks=//p' "$srcdir/examples/$job_name")
    cores=$(sed -n 's/^#SBATCH --cpus-per-task=//p' "$srcdir/examples/$job_name")
    rm -rf "$tmp/job"/*
    env PATH="$tmp/bin:$PATH" SLURM_NTASKS="$tasks" SLURM_CPUS_PER_TASK="$cores" SLURM_SUBMIT_DIR="$tmp/job" \
        SLURM_JOB_ID=7 sh "$srcdir/examples/$job_name" "$@" >"$tmp/out" 2>"$tmp/err"
    job_ended=$?
    [ $job_ended = "$job_status" ] || fail_with "$job_name: exit status $job_ended" "$tmp/err"
    read -r told pipe share <"$tmp/job/srun"
    [ "$told" = "$cores" ] || fail "$job_name: $told cores a task"
}
job job.sbatch 0 "$tmp/solver"
right_each job.sbatch "$tmp/out" "$tmp/job/xgemm-7.log"
job mps.sbatch 0 "$tmp/solver"
right_each mps.sbatch "$tmp/out" "$tmp/job/xgemm-7.log"
[ "$(tr '\n' ' ' <"$tmp/job/mps")" = "started quit " ] || fail "mps.sbatch: the server was not started and ended"
[ "$share" = 16G ] && [ -n "$pipe" ] && ! [ -e "$pipe" ] || fail "mps.sbatch: $share, $pipe"
job mps.sbatch 3 sh -c 'exit 3'
[ "$(tr '\n' ' ' <"$tmp/job/mps")" = "started quit " ] || fail "mps.sbatch: a failure leaves the server"
exit $status
