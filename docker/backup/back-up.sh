#!/bin/sh
# Base backups of the server behind /var/run/postgresql into BACKUP_DIR/base, named by the time (UTC) at which each ended, and the write-ahead
# log that the oldest one needs. `back-up.sh`: one every BACKUP_EVERY_HOURS; `back-up.sh once`; `back-up.sh check`: is the newest one young
# enough?
set -eu
folder=${BACKUP_DIR:-/backup}
every_hours=${BACKUP_EVERY_HOURS:-24}
keep=${BACKUP_KEEP:-7}

# What was begun and never ended has another name, and goes with the next one.
take() {
  mkdir -p "$folder/base" "$folder/wal"
  rm -rf "$folder"/base/*.part
  part=$folder/base/$(date -u +%Y%m%dT%H%M%SZ).part
  pg_basebackup --pgdata="$part" --format=tar --gzip --wal-method=fetch --checkpoint=fast --no-password
  tar -xzOf "$part/base.tar.gz" backup_label | sed -n 's/^START WAL LOCATION: .*(file \([0-9A-F]*\))$/\1/p' > "$part/first-segment"
  [ -s "$part/first-segment" ] || { echo 'back-up: the backup does not say where its log begins' >&2; return 1; }
  sync "$part"
  ended=$folder/base/$(date -u +%Y%m%dT%H%M%SZ)
  mv "$part" "$ended"
  sync "$folder/base"
  echo "back-up: $ended"
}

ended_ones() {
  for each in "$folder"/base/*Z; do [ ! -d "$each" ] || basename "$each"; done | sort
}

# Only when a newer one has ended: a failed backup takes no older one away.
prune() {
  ended_ones | head -n "-$keep" | while read -r old; do rm -rf "$folder/base/$old"; done
  oldest=$(ended_ones | head -n 1)
  pg_archivecleanup -x .gz "$folder/wal" "$(cat "$folder/base/$oldest/first-segment")"
}

# Twice the time between two: one may fail, and the next is not there yet.
check() {
  newest=$(ended_ones | tail -n 1)
  [ -n "$newest" ] || { echo 'back-up: there is none' >&2; return 1; }
  find "$folder/base/$newest" -maxdepth 0 -mmin "-$((every_hours * 120))" | grep -q . || { echo "back-up: the newest is $newest" >&2; return 1; }
}

case ${1:-} in
  once)
    take
    prune
    ;;
  check) check ;;
  '')
    trap 'exit 0' TERM INT
    while :; do
      # A program of its own: `set -e` does not work inside a condition.
      sh "$0" once || echo 'back-up: failed; the next try is in ten minutes' >&2
      if check 2>/dev/null; then pause=$((every_hours * 3600)); else pause=600; fi
      sleep "$pause" & wait $!
    done
    ;;
  *) echo 'usage: back-up.sh [once | check]' >&2; exit 2 ;;
esac
