-- Deliveries of webhooks and their attempts become partitions by month (docs/adr/0191-webhooks-in-partitions.md), in three migrations. The
-- first says up to which id the tables of today will be the first partition: to the end of a month that is at least three weeks away, as
-- until the third migration no row beyond it may be written.

-- Stands before every id of this kind that is made at this moment or later, as firstIdAt of libs/runtime.
CREATE FUNCTION first_id_at(prefix text, moment timestamptz) RETURNS text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog
AS $$
  SELECT prefix || '_' || string_agg(
           substr('0123456789abcdefghjkmnpqrstvwxyz', ((floor(extract(epoch FROM moment) * 1000)::int8 >> (5 * place)) & 31)::int4 + 1, 1),
           '' ORDER BY place DESC)
    FROM generate_series(0, 9) AS place
$$;

-- When an id was made.
CREATE FUNCTION time_of_id(id text) RETURNS timestamptz
  LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog
AS $$
  SELECT to_timestamp(sum(((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(split_part(id, '_', 2), 10 - place, 1)) - 1)::int8 << (5 * place))) / 1000.0)
    FROM generate_series(0, 9) AS place
$$;

DO $$
DECLARE
  bound text := first_id_at('dlv', date_trunc('month', now() AT TIME ZONE 'UTC' + interval '21 days' + interval '1 month') AT TIME ZONE 'UTC');
BEGIN
  EXECUTE format('ALTER TABLE webhook_deliveries ADD CONSTRAINT webhook_deliveries_in_first CHECK (id < %L) NOT VALID', bound);
  EXECUTE format('ALTER TABLE webhook_attempts ADD CONSTRAINT webhook_attempts_in_first CHECK (delivery_id < %L) NOT VALID', bound);
END $$;
