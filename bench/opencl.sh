#!/bin/sh
# Compares the OpenCL device with the CPU, in turns: the best of each, and their ratio. Usage: bench/opencl.sh UNROLL
# [TURNS]
unroll=${1:-build/unroll} turns=${2:-3}
rate() { "$unroll" bench --device "$1" --cell "$2" --shape "$3" --pass "$4" --seconds 1 --json | tail -n 1 | sed -nE 's/.*"gflops": ?([0-9.]+).*/\1/p'; }
"$unroll" devices | grep '^opencl'
printf '%-5s %-16s %-8s %12s %12s %8s\n' cell shape pass cpu opencl ratio
for what in lstm:1,100,64,512,512 gru:1,100,64,512,512 lstm:2,64,32,128,128 rnn:1,100,64,256,256 lstm:1,100,1,256,256; do
    for pass in forward train; do
        cpu=0 opencl=0 cell=${what%%:*} shape=${what#*:}
        for turn in $(seq "$turns"); do
            cpu=$( (echo "$cpu"; rate cpu "$cell" "$shape" $pass) | sort -g | tail -n 1)
            opencl=$( (echo "$opencl"; rate opencl "$cell" "$shape" $pass) | sort -g | tail -n 1)
        done
        echo "$cell $shape $pass $cpu $opencl" | awk '{ printf "%-5s %-16s %-8s %12.1f %12.1f %7.0f%%\n", $1, $2, $3, $4, $5, 100 * $5 / $4 }'
    done
done
