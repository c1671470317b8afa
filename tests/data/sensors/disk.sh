#!/bin/sh
# free space of a disk, named by the program that Grid Engine brings along
ARCH=`$SGE_ROOT/util/arch`
HOST=`$SGE_ROOT/utilbin/$ARCH/gethostname -name`

end=false
while [ $end = false ]; do
    read input
    result=$?
    if [ $result != 0 ]; then
        end=true
        break
    fi
    if [ "$input" = "quit" ]; then
        end=true
        break
    fi
    free=`df -Pk /var/tmp | tail -1 | awk '{ print $4 }'`
    echo "begin"
    echo "$HOST:disk_free:${free}k"
    echo "end"
done
exit 0
