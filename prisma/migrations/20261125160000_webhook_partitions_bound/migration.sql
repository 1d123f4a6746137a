-- Deliveries of webhooks and their attempts become partitions by month (docs/adr/0191-webhooks-in-partitions.md), in three migrations. The
-- first says up to which id the tables of today will be the first partition: to the end of a month that is at least three weeks away, as
-- until the third migration no row beyond it may be written, and beyond every id that is there, also those of a clock that was ahead.

-- Stands before every id of this kind that is made at this moment or later, as firstIdAt of libs/runtime.
CREATE FUNCTION first_id_at(prefix text, moment timestamptz) RETURNS text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT prefix || '_' || string_agg(
           substr('0123456789abcdefghjkmnpqrstvwxyz', ((floor(extract(epoch FROM moment) * 1000)::int8 >> (5 * place)) & 31)::int4 + 1, 1),
           '' ORDER BY place DESC)
    FROM generate_series(0, 9) AS place
$$;

-- When an id was made.
CREATE FUNCTION time_of_id(id text) RETURNS timestamptz
  LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT to_timestamp(sum(((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(split_part(id, '_', 2), 10 - place, 1)) - 1)::int8 << (5 * place))) / 1000.0)
    FROM generate_series(0, 9) AS place
$$;

DO $$
DECLARE
  newest text := greatest((SELECT max(id) FROM webhook_deliveries), (SELECT max(delivery_id) FROM webhook_attempts));
  ends timestamp := date_trunc('month', greatest(now() AT TIME ZONE 'UTC' + interval '21 days', time_of_id(newest) AT TIME ZONE 'UTC')
                                        + interval '1 month');
  bound text := first_id_at('dlv', ends AT TIME ZONE 'UTC');
BEGIN
  -- Some languages have letters of two characters, or another alphabet: 'ch' after 'h', 'z' after 's'.
  IF EXISTS (WITH letter AS (SELECT regexp_split_to_table('0123456789abcdefghjkmnpqrstvwxyz', '') AS c)
             SELECT FROM (SELECT s.id, lead(s.id) OVER (ORDER BY s.id COLLATE "C") AS next
                            FROM (SELECT 'dlv_01m' || x.c || y.c || z.c AS id FROM letter x, letter y, letter z) s) n
              WHERE n.id >= n.next) THEN
    RAISE EXCEPTION 'the language of this database sorts ids of webhook deliveries otherwise than by their time'
      USING HINT = 'Nothing was changed. Bring its dump into a database that was made with LOCALE ''C.UTF-8'' (docs/database.md, "Partitions").';
  END IF;
  IF time_of_id(newest) > now() + interval '1 day' THEN
    RAISE WARNING 'webhook deliveries have ids of a clock that was ahead, up to %: until then nothing of them leaves', time_of_id(newest);
  END IF;
  EXECUTE format('ALTER TABLE webhook_deliveries ADD CONSTRAINT webhook_deliveries_in_first CHECK (id < %L) NOT VALID', bound);
  EXECUTE format('ALTER TABLE webhook_attempts ADD CONSTRAINT webhook_attempts_in_first CHECK (delivery_id < %L) NOT VALID', bound);
END $$;
