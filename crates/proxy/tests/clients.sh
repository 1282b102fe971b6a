#!/bin/sh
# Real clients and servers through a proxy: curl and nginx, iperf3, ssh and sshd.
#
#   clients.sh CLIENT SERVER ADDRESS FOLDER
#
# CLIENT and SERVER are namespaces of `ip netns`; servers listen at ADDRESS in SERVER. Prints a line for each that did what it does without
# a proxy, and `skipped` for each that is not installed; what it starts ends with it. SSHD names another sshd.
set -eu
client=$1 server=$2 address=$3 folder=$4
in_client() { ip netns exec "$client" "$@"; }
has() { command -v "$1" >/dev/null 2>&1; }
started=
trap 'for process in $started; do kill $process 2>/dev/null || true; done; wait' EXIT
listens() {
    n=0
    until ip netns exec "$server" grep -qi ":$(printf %04X "$1") 00000000:0000 0A" /proc/net/tcp; do
        n=$((n + 1)); [ $n -lt 200 ] || { echo "nothing listens at port $1"; exit 1; }; sleep 0.05
    done
}

if has nginx && has curl; then
    mkdir -p "$folder/files"
    head -c 20000000 /dev/urandom > "$folder/files/large"
    echo 'a small one' > "$folder/files/small"
    cat > "$folder/nginx.conf" <<END
worker_processes 1; daemon off; user root; pid $folder/nginx.pid; error_log $folder/nginx.log;
events { worker_connections 256; }
http { access_log off; client_max_body_size 0; client_body_temp_path $folder/body; proxy_temp_path $folder/p; fastcgi_temp_path $folder/f;
  uwsgi_temp_path $folder/u; scgi_temp_path $folder/s;
  server { listen $address:80; root $folder/files; location /put { dav_methods PUT; create_full_put_path on; root $folder; } } }
END
    ip netns exec "$server" nginx -p "$folder" -c "$folder/nginx.conf" & started="$started $!"
    listens 80
    in_client curl -sS --max-time 60 -o "$folder/got" "http://$address/large"
    cmp "$folder/got" "$folder/files/large" && echo "curl: 20 MB as they are"
    in_client curl -sS --max-time 60 -r 5000000-5999999 -o "$folder/part" "http://$address/large"
    tail -c +5000001 "$folder/files/large" | head -c 1000000 | cmp - "$folder/part" && echo "curl: a range"
    # 50 requests over one connection, then 40 connections at once.
    for _ in $(seq 50); do echo "url = \"http://$address/small\""; done > "$folder/urls"
    [ "$(in_client curl -sS --max-time 60 -K "$folder/urls" | grep -c 'a small one')" = 50 ] && echo "curl: 50 requests in a row"
    [ "$(in_client curl -sS --max-time 60 -Z --parallel-max 40 -K "$folder/urls" | grep -c 'a small one')" = 50 ] && echo "curl: at once"
    code=$(in_client curl -sS --max-time 60 -o /dev/null -w '%{http_code}' "http://$address/absent")
    [ "$code" = 404 ] && echo "curl: what is not there"
    # A transfer that the client breaks off leaves the server as it was.
    ip netns exec "$client" curl -sS --max-time 60 --limit-rate 1M -o /dev/null "http://$address/large" & broken=$!
    sleep 0.5; kill $broken; wait $broken || true
    [ "$(in_client curl -sS --max-time 60 "http://$address/small")" = 'a small one' ] && echo "curl: after one that was broken off"
    # Nothing listens at port 81: refused, or reset before an answer.
    in_client curl -sS --max-time 60 "http://$address:81/" >/dev/null 2>&1 || { [ $? -ne 28 ] && echo "curl: a port that is closed"; }
else
    echo "skipped: nginx and curl"
fi

if has iperf3; then
    ip netns exec "$server" iperf3 -s -B "$address" >/dev/null 2>&1 & started="$started $!"
    listens 5201
    for way in "" -R --bidir "-P 8"; do
        # shellcheck disable=SC2086
        in_client iperf3 -c "$address" -t 1 $way >"$folder/iperf" 2>&1 || { cat "$folder/iperf"; exit 1; }
        echo "iperf3: one second ${way:-forwards}"
    done
else
    echo "skipped: iperf3"
fi

sshd=${SSHD:-$(command -v sshd || echo /usr/sbin/sshd)}
if has ssh && has ssh-keygen && [ -x "$sshd" ]; then
    chmod 700 "$folder"
    ssh-keygen -q -t ed25519 -N '' -f "$folder/host"; ssh-keygen -q -t ed25519 -N '' -f "$folder/key"
    mkdir -p /run/sshd
    printf '%s\n' "ListenAddress $address" "Port 2222" "HostKey $folder/host" "AuthorizedKeysFile $folder/key.pub" \
        "PidFile $folder/sshd.pid" "StrictModes no" "UsePAM no" "PermitRootLogin yes" > "$folder/sshd.conf"
fi
if [ -e "$folder/sshd.conf" ] && ip netns exec "$server" "$sshd" -t -f "$folder/sshd.conf"; then
    ip netns exec "$server" "$sshd" -D -f "$folder/sshd.conf" -E "$folder/sshd.log" & started="$started $!"
    listens 2222
    ssh="ssh -F none -p 2222 -i $folder/key -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    # shellcheck disable=SC2086
    head -c 3000000 /dev/urandom > "$folder/said"; in_client $ssh "root@$address" 'cat; exit 3' < "$folder/said" > "$folder/heard" || code=$?
    cmp "$folder/said" "$folder/heard" && [ "$code" = 3 ] && echo "ssh: 3 MB there and back, and the exit code"
    # Words one by one, as somebody types them.
    # shellcheck disable=SC2086
    words=$(for word in one two three; do echo $word; sleep 0.1; done | in_client $ssh "root@$address" cat | tr '\n' ' ')
    [ "$words" = "one two three " ] && echo "ssh: as it is typed"
else
    echo "skipped: ssh and sshd"
fi
