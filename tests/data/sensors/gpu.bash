#!/bin/bash
# free GPUs and the memory of the best one, as nvidia-smi lists them
HOST=$("$SGE_ROOT/utilbin/$("$SGE_ROOT/util/arch")/gethostname" -aname)
SMI=/usr/bin/nvidia-smi

while true; do
    read -r line || exit 0
    [[ $line == quit ]] && exit 0
    free=0 best=0
    while IFS=', ' read -r used memory; do
        if (( used < 5 )); then
            (( free++ ))
            (( memory > best )) && best=$memory
        fi
    done < <("$SMI" --query-gpu=utilization.gpu,memory.free --format=csv,noheader,nounits 2>/dev/null)
    echo begin
    echo "$HOST:gpus_idle:$free"
    echo "$HOST:gpu_memory:${best}M"
    echo end
done
