#!/bin/sh
# free licences of a FlexLM server, for the whole cluster
LMSTAT=/usr/local/flexlm/lmstat

while read line; do
    if [ "$line" = quit ]; then
        exit 0
    fi
    echo begin
    $LMSTAT -a | sed -n 's/^Users of \([a-z]*\): *(Total of \([0-9]*\) licenses\{0,1\} issued; *Total of \([0-9]*\) licenses\{0,1\} in use)$/\1 \2 \3/p' |
        while read feature total used; do
            echo "global:lic_$feature:`expr $total - $used`"
        done
    echo end
done
