#!/bin/sh
# archive_command of PostgreSQL: `archive-wal.sh %p %f`. A segment stands in the archive whole or not at all, and on the disk before the
# server forgets it. Asked again for one that is there (the server died before it noted the first time) it says yes; another content
# under the same name is refused: two servers must never write into one archive.
set -eu
segment=$1
name=$2
folder=${BACKUP_DIR:-/backup}/wal
to=$folder/$name.gz

mkdir -p "$folder"
if [ -e "$to" ]; then
  gzip -dc "$to" | cmp -s - "$segment" && exit 0
  echo "archive-wal: $name is archived already, with another content" >&2
  exit 1
fi
gzip -c "$segment" > "$to.part"
sync "$to.part"
mv "$to.part" "$to"
sync "$folder"
