-- Calls to providers and theirs to us become partitions by month (docs/adr/0197-payment-calls-in-partitions.md): the four indexes before this
-- one, and the migrations up to 20261127083600 that belong together. The first says up to which time the tables of today will be the first
-- partitions: to the end of a month that is at least three weeks away, as until the last one no row beyond it may be written, and beyond the
-- newest thousand of each. Where a clock was ahead before these, the next ones move the bound.
DO $$
DECLARE
  newest timestamptz := greatest(
    (SELECT max(n.started_at) FROM (SELECT started_at FROM payment_calls ORDER BY id DESC LIMIT 1000) n),
    (SELECT max(n.received_at) FROM (SELECT received_at FROM provider_callbacks ORDER BY id DESC LIMIT 1000) n));
  ends timestamp := date_trunc('month', greatest(now() + interval '21 days', newest) AT TIME ZONE 'UTC' + interval '1 month');
  bound text := to_char(ends, 'YYYY-MM-DD HH24:MI:SS+00');
BEGIN
  IF newest > now() + interval '1 day' THEN
    RAISE WARNING 'calls of payments have times of a clock that was ahead, up to %: until then nothing of them leaves', newest;
  END IF;
  EXECUTE format('ALTER TABLE payment_calls ADD CONSTRAINT payment_calls_in_first CHECK (started_at < %L) NOT VALID', bound);
  EXECUTE format('ALTER TABLE provider_callbacks ADD CONSTRAINT provider_callbacks_in_first CHECK (received_at < %L) NOT VALID', bound);
END $$;
