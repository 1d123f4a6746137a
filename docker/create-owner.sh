#!/bin/sh
# Runs once, when the database volume is empty: the owner of the database, which migrates. It makes the programs' role.
set -eu
psql --set=ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
  --set=password="$OWNER_PASSWORD" <<'SQL'
CREATE ROLE fiscal_owner LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE fiscal OWNER fiscal_owner;
SQL
