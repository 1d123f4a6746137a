-- As before, and of a moment before 1970 the smallest of all ids: its digits wrapped round to the largest, so that what was to be kept for a century
-- was older than that, all of it.
CREATE OR REPLACE FUNCTION first_id_at(prefix text, moment timestamptz) RETURNS text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT prefix || '_' || string_agg(
           substr('0123456789abcdefghjkmnpqrstvwxyz', ((greatest(floor(extract(epoch FROM moment) * 1000), 0)::int8 >> (5 * place)) & 31)::int4 + 1, 1),
           '' ORDER BY place DESC)
    FROM generate_series(0, 9) AS place
$$;
