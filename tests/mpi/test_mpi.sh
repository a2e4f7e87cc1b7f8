#!/bin/bash
# Ranks that are processes: sums over MPI, meshes of up to 8 ranks, exact runs compared byte for byte, checkpoints
# resumed on other numbers of ranks, and slow ranks. Short by default; "all" as third argument runs all combinations of
# meshes. Killed runs are tested in test_ends.sh. Usage: test_mpi.sh build/unroll build/tests/comm/test_sums [all]
# test: args=$B/unroll $B/tests/comm/test_sums; seconds=40
unroll=$(realpath "$1") sums=$(realpath "$2") scope=$3 root=$(realpath "$(dirname "$0")/../..")
. "$root/tests/mpi/checks.sh" test_mpi

# ---- without MPI ---------------------------------------------------------------------------

make_text
train=(train text --layers 2 --hidden 12 --bptt 8 --batch 8 --val 0.2 --validate-every 4 --dropout 0.2 --threads 1)
alone() { "$unroll" "${train[@]}" "$@" >log 2>&1; }

alone --steps 1 --split batch=2 --out refused
check "a cut for two ranks in one process is refused" test $? = 2
check "and says how to start two" says 'mpirun -n 2'
OMPI_COMM_WORLD_SIZE=2 UNROLL_MPI=morse alone --steps 1 --split batch=2 --out refused
check "an unknown MPI is refused" test $? = 2
check "nothing was written" test ! -e refused
alone --steps 8 --exact 4 --out one
check "one process, exact" test $? = 0
# The search path of libraries cannot be emptied, but a library that is not MPI can precede the others.
mkdir fake && cp "$(ldd "$unroll" | sed -n 's/.*jansson.*=> \([^ ]*\).*/\1/p')" fake/libmpi.so.40 2>/dev/null
LD_LIBRARY_PATH=$dir/fake OMPI_COMM_WORLD_SIZE=2 alone --steps 1 --split batch=2 --out refused
check "a library that is no MPI is refused" test $? = 4
check "by what it lacks" says "has no 'MPI_"

if ! command -v mpirun.openmpi >/dev/null; then
    skip "no Open MPI here: nothing was run on several ranks"
    finish
fi
run=(timeout -k 5 300 mpirun.openmpi --oversubscribe)
ranks() { "${run[@]}" -n "$1" "$unroll" "${train[@]}" "${@:2}" >log 2>&1; }
same() { cmp "$1/model.safetensors" "$2/model.safetensors" && python3 "$root/tests/mpi/same_checkpoint.py" "$1/ckpt/$3" "$2/ckpt/$3"; }

# ---- sums ----------------------------------------------------------------------------------

for n in 2 3 5; do
    check "sums of $n ranks over Open MPI" "${run[@]}" -n $n "$sums" mpi
done
if command -v mpirun.mpich >/dev/null; then
    check "sums of 2 ranks over MPICH" timeout -k 5 300 mpirun.mpich -n 2 "$sums" mpi
else
    skip "no MPICH here"
fi

# ---- training ------------------------------------------------------------------------------

exact() {       # exact RANKS SPLIT: the bytes of one process
    rm -rf many
    ranks "$1" --steps 8 --exact 4 --split "$2" --chunk 3 --out many
    check "$2 trains" test $? = 0
    check "$2 has the bytes of one process" same one many step-8
}
exact 2 batch=2

# Sequences divided among ranks give the bytes of one process with the same number of shards.
awk 'BEGIN { srand(2); print "text,label,site"; for (i = 0; i < 120; i++) { t = ""; n = 1 + int(rand() * 30)
    for (k = 0; k < n; k++) t = t (i % 3 ? "ab " : "cd "); print t "," (i % 3 ? "yes" : "no") ",s" i % 4 } }' >sites.csv
text=("${train[@]}")
for how in length site; do
    train=(train sites.csv --tokens chars --target label --hidden 4 --batch 8 --val 0 --exact 2 --threads 1 --divide-by $how --steps 20)
    rm -rf undivided shared
    alone --out undivided
    ranks 2 --split batch=2 --out shared
    check "ranks that share by $how have the bytes of one process" cmp undivided/model.safetensors shared/model.safetensors
done
train=("${text[@]}")
exact 3 batch=3
exact 4 batch=2,layer=2
exact 4 layer=2,hidden=2
if [ "$scope" = all ]; then
    exact 4 batch=4; exact 2 layer=2; exact 6 batch=3,layer=2; exact 8 batch=4,layer=2; exact 3 layer=3; exact 5 hidden=5; exact 8 batch=2,layer=2,hidden=2
    for split in "2 hidden=2" "4 batch=2,hidden=2" "4 layer=2,hidden=2" "6 hidden=3,batch=2" "7 batch=7" "8 hidden=8"; do
        rm -rf many
        ranks ${split% *} --steps 8 --split ${split#* } --out many
        check "$split trains" test $? = 0
    done
fi
rm -rf many
ranks 8 --steps 8 --split batch=2,layer=2,hidden=2 --chunk 3 --out many
check "2 x 2 x 2 ranks train" test $? = 0
loss() { sed -n 's/.*"val_loss":\([0-9.]*\).*/\1/p' "$1/metrics.jsonl" | tail -n 1; }
check "to the loss of one process" awk -v a="$(loss one)" -v b="$(loss many)" \
    'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 1e-6) }'
check "rank 0 alone speaks" test "$(grep -c '^done' log)" = 1
for way in native ring star mesh; do
    [ $way = native ] || [ "$scope" = all ] || continue
    rm -rf many
    ranks 3 --steps 8 --split batch=3 --sum $way --out many
    check "sums by $way" test $? = 0
    check "sums by $way to the loss of one process" awk -v a="$(loss one)" -v b="$(loss many)" \
        'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 1e-6) }'
done
seconds_of() { sed -n 's/.*"ranks":\[{"compute":\([0-9.]*\),.*"exposed":\([0-9.]*\),"sent":\([0-9]*\)}\].*/\1 \2 \3/p' many/metrics.jsonl | tail -n 1; }
check "the metrics say what each rank did with its seconds" awk -v x="$(seconds_of)" \
    'BEGIN { split(x, s); exit !(s[1] > 0 && s[2] > 0 && s[3] > 0) }'
# The messages of the plan, and less than 2 kB a step of others.
sent() { sed -n 's/.*"sent":\([0-9]*\)}\].*/\1/p' many/metrics.jsonl | tail -n 1; }
planned() {
    "$unroll" plan --layers 2 --hidden 12 --input 33 --bptt 8 --batch 8 "$@" --json |
        sed 's/.*"mesh"//; s/"\(sum\|message\|met\)_bytes":/\n=/g' | sed -n 's/^=\([0-9.]*\).*/\1/p' | tail -n 3 |
        awk '{ sum += $1 } END { print sum }'
}
rm -rf many
ranks 4 --steps 8 --split batch=2,hidden=2 --chunk 4 --val 0 --out many
check "batch=2,hidden=2 trains" test $? = 0
check "and sends what the plan says" awk -v sent="$(sent)" -v planned="$(planned --split batch=2,hidden=2 --chunk 4)" \
    'BEGIN { print sent, 8 * planned; exit !(planned > 0 && sent >= 8 * planned && sent < 8 * (planned + 2000)) }'
rm -rf many
printf '{"name":"a","rank":{"gflops":50,"recurrent_gflops":30,"memory_bandwidth":1e10},"levels":[{"name":"a","latency":1e-6,"bandwidth":1e10}]}' >net.json
ranks 2 --steps 4 --split auto --network net.json --out many
check "the planner chooses a cut for 2 ranks" test $? = 0
check "and says which" grep -q '^--split auto: .*=2.* (modeled)' log
if command -v mpirun.mpich >/dev/null; then
    rm -rf many
    timeout -k 5 300 mpirun.mpich -n 2 "$unroll" "${train[@]}" --steps 8 --exact 4 --split batch=2 --out many >log 2>&1
    check "MPICH trains" test $? = 0
    rm -rf native
    timeout -k 5 300 mpirun.mpich -n 2 "$unroll" "${train[@]}" --steps 4 --split batch=2 --sum native --out native >log 2>&1
    check "MPICH trains with its own sums" test $? = 0
    check "with the same bytes" same one many step-8
fi

# All ranks run out of patience at the same validation.
restless=(--lr 0.5 --warmup 0 --schedule constant --patience 2 --steps 400 --exact 4)
alone "${restless[@]}" --out impatient
check "one process runs out of patience" says '^2 validations without improvement'
ranks 2 "${restless[@]}" --split batch=2 --out impatient2
check "two ranks do" says '^2 validations without improvement'
check "at the same step, with the same best weights" test "$(cd impatient && ls ckpt; cat model.safetensors | cksum)" = \
    "$(cd impatient2 && ls ckpt; cat model.safetensors | cksum)"

# Trained on 4 ranks, resumed on others.
ranks 4 --steps 4 --schedule-steps 8 --exact 4 --split batch=4 --out four
check "4 steps on 4 ranks" test $? = 0
alone --steps 8 --schedule-steps 8 --exact 4 --out whole
resume() {      # resume RANKS [OPTIONS]
    rm -rf again && cp -r four again
    if [ "$1" = 1 ]; then
        "$unroll" train --resume again --steps 8 --schedule-steps 8 >log 2>&1
    else
        "${run[@]}" -n "$1" "$unroll" train --resume again --steps 8 --schedule-steps 8 "${@:2}" >log 2>&1
    fi
    check "resumed on $*" test $? = 0
    check "on $* with the same bytes" same whole again step-8
}
resume 1
resume 3 --split batch=3
[ "$scope" = all ] && resume 2 --split layer=2 && resume 8 --split batch=4,layer=2
resume 2 --split hidden=2
resume 8 --split batch=2,layer=2,hidden=2

# ---- workers ---------------------------------------------------------------------------------

local=(--workers 2 --sync local:3,momentum=0.5 --schedule-steps 8)
ranks 2 --steps 8 "${local[@]}" --out workers
check "two workers train" test $? = 0
ranks 2 --steps 4 "${local[@]}" --out workers2
"${run[@]}" -n 2 "$unroll" train --resume workers2 --workers 2 --steps 8 >log 2>&1
check "and resumed in the middle of an exchange" same workers workers2 step-8
rm -rf workers2
ranks 4 --steps 8 "${local[@]}" --split layer=2 --out workers2
check "so do two of two ranks" test $? = 0
check "to the loss of those of one" awk -v a="$(loss workers)" -v b="$(loss workers2)" \
    'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 1e-6) }'

# Workers divide sequences, too; here one of them has nothing to read in many batches.
sed 's/,s[0-2]$/,s0/' sites.csv >uneven.csv
train=(train uneven.csv --tokens chars --target label --hidden 4 --batch 8 --val 24 --threads 1 --divide-by site
    --workers 2 --sync local:3 --schedule-steps 40)
ranks 2 --steps 40 --out by_site
check "workers share sequences" test $? = 0
check "and learn" awk -v a="$(loss by_site)" 'BEGIN { exit !(a > 0 && a < 0.6) }'
ranks 2 --steps 28 --out by_site2
"${run[@]}" -n 2 "$unroll" train --resume by_site2 --workers 2 --steps 40 >log 2>&1
check "and go on in the middle of an epoch" cmp by_site/model.safetensors by_site2/model.safetensors
train=("${text[@]}")

gossip=(--workers 2 --sync gossip --steps 40 --validate-every 20)
ranks 2 "${gossip[@]}" --verify-every 7 --save-every 6 --arrivals came --out gossip
check "two workers gossip" test $? = 0
ranks 2 "${gossip[@]}" --verify-every 7 --save-every 6 --replay came --out gossip2
check "and have the same bits where what came comes again" cmp gossip/model.safetensors gossip2/model.safetensors
ranks 2 "${gossip[@]}" --steps 28 --out gossip3
"${run[@]}" -n 2 "$unroll" train --resume gossip3 --workers 2 --sync gossip --steps 40 >log 2>&1
check "and go on" test $? = 0

# A server whose pieces respond as gradients arrive; and one that waits for all, which has the bits of sums in a tree.
server=(--workers 2 --sync server:2 --steps 40 --validate-every 20)
ranks 2 "${server[@]}" --save-every 6 --arrivals came --out server
check "two workers with a server" test $? = 0
ranks 2 "${server[@]}" --save-every 6 --replay came --out server2
check "have the same bits where what came comes again" cmp server/model.safetensors server2/model.safetensors
ranks 3 --steps 8 --workers 3 --sync server:0 --out server3
check "three with one that waits for all" test $? = 0
ranks 3 --steps 8 --workers 3 --sync every --sum tree --out server4
check "have the bits of sums" cmp server3/model.safetensors server4/model.safetensors
cp -r server3 server5
"${run[@]}" -n 2 "$unroll" train --resume server5 --workers 2 --sync server:any --steps 20 >log 2>&1
check "and go on without" test $? = 0

# ---- sequences of unequal length -----------------------------------------------------------

check "the example compiles" ${CC:-cc} -I"$root/include" "$root/examples/ragged.c" "$(dirname "$unroll")/libunroll.a" -ljansson -lm \
    -pthread -ldl -o ragged
./ragged ragged.1 >losses.1
for n in 2 3 4; do
    "${run[@]}" -n $n ./ragged ragged.$n >losses.$n 2>log
    check "$n ranks divide sequences" test $? = 0
    check "and say what one process says" cmp losses.1 losses.$n
    check "with its bytes" cmp ragged.1 ragged.$n
done

# ---- refusals ------------------------------------------------------------------------------

refused() {     # refused STATUS WORDS RANKS OPTIONS...
    ranks "$3" --steps 1 --out no "${@:4}"
    check "${*:4} on $3 ranks ends with $1" test $? = "$1"
    check "${*:4} says: $2" says "$2"
    check "nothing is written" test ! -e no
}
refused 2 'were started without a division of the work' 2
refused 2 '4 ranks, .* 2 were started' 2 --workers 2 --split batch=2
refused 2 'is for 4 ranks, but 2 were started' 2 --split batch=4
refused 4 'adds in a different order' 2 --split batch=2 --exact 4 --sum native
refused 4 'projects' 2 --split hidden=2 --exact 4 --projection 4
refused 4 'whole model' 2 --split batch=2 --sample-every 3
[ "$scope" = all ] && refused 4 'more stages' 4 --split layer=4
cat >differ <<END
#!/bin/sh
head -n \$((400 - OMPI_COMM_WORLD_RANK)) text >text\$OMPI_COMM_WORLD_RANK
exec "$unroll" train text\$OMPI_COMM_WORLD_RANK --hidden 8 --steps 1 --split batch=2 --out no
END
chmod +x differ
"${run[@]}" -n 2 ./differ >log 2>&1
check "ranks with different texts are refused" says 'not the same as on rank 0'
cat >differ <<END
#!/bin/sh
exec "$unroll" train text --hidden 8 --steps \$((3 + OMPI_COMM_WORLD_RANK)) --schedule constant --split batch=2 --out no
END
"${run[@]}" -n 2 ./differ >log 2>&1
check "ranks with different ends are refused" says 'the end of the run, .*differs from rank 0'
check "and none has begun" test ! -e no

# ---- late ranks ----------------------------------------------------------------------------

# A slow rank only delays the others: ten stops of a tenth of a second.
rm -rf slow
"${run[@]}" -n 2 "$unroll" "${train[@]}" --steps 400 --exact 4 --split batch=2 --out slow --timeout 60s >log 2>&1 &
job=$!
for i in $(seq 2400); do [ -s slow/metrics.jsonl ] && break; sleep 0.05; done
p=$(process_of 1 slow)
for i in 1 2 3 4 5; do kill -STOP "$p" 2>/dev/null; sleep 0.2; kill -CONT "$p" 2>/dev/null; sleep 0.02; done
wait $job
ended=$?
[ $ended = 0 ] || tail -n 12 log
check "a slow rank is waited for" test $ended = 0
finish
