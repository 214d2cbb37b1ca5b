#!/bin/bash
# usage: run.sh OUTDIR [DEVICES]
# Runs the asking programs beside this script with the CUDA runtimes beside it, one text file of answers each. Every group
# ends itself after 25 s; memory and pools, where other processes' memory shows, run alone.
here=$(cd "$(dirname "$0")" && pwd)
out=$1
devices=${2:-1}
mkdir -p "$out"
export LD_LIBRARY_PATH=$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export CUDA_CACHE_PATH=${CUDA_CACHE_PATH:-/tmp/ask-cache}
ask() { # NAME PROGRAM [ARGUMENT...]
    local name=$1 program=$2
    shift 2
    timeout -k 10 540 "$here/$program" "$@" >"$out/$name.txt" 2>"$out/$name.err"
    echo "$name: exit $?, $(wc -l <"$out/$name.txt") lines"
}
if [ "$devices" -gt 1 ]; then
    ask peers ask_peers --devices "$devices"
    exit
fi
for name in memory pools device; do ask $name ask_$name; done
[ -e "$here/libcudart.so.12" ] && ask twelve ask_twelve
for name in first start errors copy arrays textures managed launch clusters streams graphs nodes; do ask $name ask_$name & done
ask streams_ptds ask_streams_ptds create defaults order wait_event events capture fork_join implicit during_launch_null_Global \
    during_memcpy_Global during_memset_Global during_stream_query_other_Relaxed &
wait
