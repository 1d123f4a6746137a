#!/bin/sh
# An authority for one installation and the certificates of its PostgreSQL and Redis, for docker-compose.tls.yml:
# `make-certificates.sh [folder [further name …]]`. What is there and good for another 30 days stays; the rest is made anew.
set -eu
folder=${1:-$(dirname "$0")/certificates}
[ $# -eq 0 ] || shift
days=825

mkdir -p "$folder"
cd "$folder"
umask 077

is_good() { [ -s "$1.key" ] && openssl x509 -in "$1.crt" -noout -checkend $((30 * 86400)) >/dev/null 2>&1; }

if ! is_good ca; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj '/CN=fiscal receipt gateway, inside' \
    -addext 'basicConstraints=critical,CA:TRUE,pathlen:0' -addext 'keyUsage=critical,keyCertSign,cRLSign' -keyout ca.key -out ca.crt 2>/dev/null
  rm -f postgres.crt redis.crt
fi

for server in postgres redis; do
  ! is_good "$server" || continue
  names="DNS:$server,DNS:localhost"
  for name in "$@"; do
    case $name in
      *[!0-9.]*) names="$names,DNS:$name" ;;
      *) names="$names,IP:$name" ;;
    esac
  done
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$server" -keyout "$server.key" -out "$server.csr" 2>/dev/null
  printf 'subjectAltName=%s\nbasicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth\n' "$names" > "$server.ext"
  openssl x509 -req -in "$server.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days "$days" -extfile "$server.ext" -out "$server.crt" 2>/dev/null
  rm -f "$server.csr" "$server.ext"
done
# Certificates are no secret, and the programs read the authority's as another user.
chmod 644 ca.crt postgres.crt redis.crt
chmod 755 .
echo "certificates: $(pwd), good until $(openssl x509 -in postgres.crt -noout -enddate | cut -d= -f2)"
