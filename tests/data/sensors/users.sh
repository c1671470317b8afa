#!/bin/sh
# users who are logged in, so that jobs stay away from desktops in use
PATH=/bin:/usr/bin
myhost=`hostname | cut -f1 -d.`

while :; do
    read input || break
    [ "x$input" = "xquit" ] && break
    logins=`who | cut -f1 -d' ' | sort | uniq | wc -l | sed 's/^ *//'`
    echo begin
    echo $myhost:logins:$logins
    echo end
done
