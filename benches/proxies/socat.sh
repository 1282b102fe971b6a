#!/bin/sh
# socat from port $1 to port $2 of the loopback, a process for each connection.
exec socat -t 3600 "TCP-LISTEN:$1,bind=127.0.0.1,reuseaddr,fork,backlog=128" "TCP:127.0.0.1:$2"
