#!/bin/sh
# Base backups of the server behind /var/run/postgresql into BACKUP_DIR/base, named by the time (UTC) at which each ended, and the write-ahead
# log that they need. `back-up.sh`: one every BACKUP_EVERY_HOURS; `back-up.sh once`; `take`: the same, and nothing old goes; `check`: is the newest one young
# enough?
set -eu
folder=${BACKUP_DIR:-/backup}
every_hours=${BACKUP_EVERY_HOURS:-24}
keep=${BACKUP_KEEP:-7}
[ "$keep" -ge 1 ] 2>/dev/null || { echo "back-up: BACKUP_KEEP is '$keep'; it is a number, 1 at least" >&2; exit 2; }

# What was begun and never ended has another name, and goes with the next one. The log of the backup itself comes with it while it runs: the server
# forgets what is archived with its next checkpoint, and a backup takes longer than that.
take() {
  mkdir -p "$folder/base" "$folder/wal"
  rm -rf "$folder"/base/*.part
  part=$folder/base/$(date -u +%Y%m%dT%H%M%SZ).part
  pg_basebackup --pgdata="$part" --format=tar --gzip --wal-method=stream --checkpoint=fast --no-password
  tar -xzOf "$part/base.tar.gz" backup_label | sed -n 's/^START WAL LOCATION: .*(file \([0-9A-F]*\))$/\1/p' > "$part/first-segment"
  [ -s "$part/first-segment" ] || { echo 'back-up: the backup does not say where its log begins' >&2; return 1; }
  sync "$part/first-segment" "$part"
  ended=$folder/base/$(date -u +%Y%m%dT%H%M%SZ)
  mv "$part" "$ended"
  sync "$folder/base"
  echo "back-up: $ended"
}

ended_ones() {
  for each in "$folder"/base/*Z; do [ ! -d "$each" ] || basename "$each"; done | sort
}

# A failed backup takes none of the last ones away, and the log goes that none of them needs. Which begins first is a matter of its place in the log, not of
# age: after a way back a younger one may begin further up. pg_archivecleanup does not regard the timeline (the first eight digits) either.
# One that does not say where its log begins is an empty line, and comes first: nothing goes.
prune() {
  ended_ones | head -n "-$keep" | while read -r old; do rm -rf "$folder/base/$old"; done
  first=$(ended_ones | while read -r each; do echo "$(cat "$folder/base/$each/first-segment")"; done | sort -k1.9 | head -n 1)
  [ -z "$first" ] || pg_archivecleanup -x .gz "$folder/wal" "$first"
}

# Twice the time between two: one may fail, and the next is not there yet.
check() {
  newest=$(ended_ones | tail -n 1)
  [ -n "$newest" ] || { echo 'back-up: there is none' >&2; return 1; }
  find "$folder/base/$newest" -maxdepth 0 -mmin "-$((every_hours * 120))" | grep -q . || { echo "back-up: the newest is $newest" >&2; return 1; }
}

case ${1:-} in
  once)
    # A program of its own: `set -e` does not work inside a condition. A backup may have failed for want of room: what it has written goes, and so
    # does what is too many since BACKUP_KEEP was lowered.
    status=0
    sh "$0" take || status=1
    rm -rf "$folder"/base/*.part
    prune
    exit "$status"
    ;;
  take) take ;;
  check) check ;;
  '')
    trap 'exit 0' TERM INT
    while :; do
      sh "$0" once || echo 'back-up: failed; the next try is in ten minutes' >&2
      if check 2>/dev/null; then pause=$((every_hours * 3600)); else pause=600; fi
      sleep "$pause" & wait $!
    done
    ;;
  *) echo 'usage: back-up.sh [once | take | check]' >&2; exit 2 ;;
esac
