-- Attempts become partitions by the month of their receipt (docs/adr/0198-attempts-in-partitions.md): the index before this migration, and the
-- three up to 20261127140300 that belong together. This one says up to which receipt the table of today will be a partition: to the end of a
-- month that is at least three weeks away, as until the last one no attempt of a receipt beyond it may be written, and beyond every receipt that
-- an attempt is of, also of a clock that was ahead. Receipts of sandboxes have ids that stand behind all others: their attempts stay in it.
DO $$
DECLARE
  newest text;
  ends timestamp;
BEGIN
  -- Before the newest is read, so that none comes after it.
  LOCK TABLE attempts IN ACCESS EXCLUSIVE MODE;
  newest := (SELECT receipt_id FROM attempts WHERE receipt_id < 'rcp_t' ORDER BY receipt_id DESC LIMIT 1);
  IF newest !~ '^rcp_[0-7][0-9a-hjkmnp-tv-z]{25}$' THEN
    RAISE EXCEPTION 'an attempt is of a receipt with an id that no program of this system makes: %', newest
      USING HINT = 'Nothing was changed. Delete that attempt, or give it and its receipt another id, and run the migrations again.';
  END IF;
  IF EXISTS (WITH letter AS (SELECT regexp_split_to_table('0123456789abcdefghjkmnpqrstvwxyz', '') AS c)
             SELECT FROM (SELECT s.id, lead(s.id) OVER (ORDER BY s.id COLLATE "C") AS next
                            FROM (SELECT 'rcp_01m' || x.c || y.c || z.c AS id FROM letter x, letter y, letter z) s) n
              WHERE n.id >= n.next) OR 'rcp_t' < 'rcp_7zzzzzzzzzz' THEN
    RAISE EXCEPTION 'the language of this database sorts ids of receipts otherwise than by their time'
      USING HINT = 'Nothing was changed. Bring its dump into a database that was made with LOCALE ''C.UTF-8'' (docs/database.md, "Partitions").';
  END IF;
  IF time_of_id(newest) > now() + interval '2 years' THEN
    RAISE EXCEPTION 'an attempt is of a receipt with an id of a clock that was years ahead: %, of %', newest, time_of_id(newest)
      USING HINT = 'Nothing was changed. No month would come until then. Delete that attempt, or give it and its receipt another id, and run the migrations again.';
  END IF;
  IF time_of_id(newest) > now() + interval '1 day' THEN
    RAISE WARNING 'attempts are of receipts with ids of a clock that was ahead, up to %: until then they are in no month', time_of_id(newest);
  END IF;
  ends := date_trunc('month', greatest(now() + interval '21 days', time_of_id(newest)) AT TIME ZONE 'UTC' + interval '1 month');
  EXECUTE format('ALTER TABLE attempts ADD CONSTRAINT attempts_in_first CHECK (receipt_id < %L OR receipt_id >= ''rcp_t'') NOT VALID',
                 first_id_at('rcp', ends AT TIME ZONE 'UTC'));
END $$;
