-- Card tokens, phones and codes of payments with which nothing is taken any more: what a provider had refused, and what a person or the comparison had ended,
-- kept them until now. The migration after this one calls it. A row that a program holds just then is left: it ends with the release that forgets by itself.
-- Killed, it begins anew, and finds what is left.
CREATE PROCEDURE forget_instruments()
  LANGUAGE plpgsql
AS $$
DECLARE
  newest CONSTANT text := (SELECT max(p.id) FROM public.payments p);
  after_id text := '';
  up_to_id text;
BEGIN
  -- Each piece by its ids, also where nothing is known of the table, as after a restore.
  PERFORM set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false), set_config('enable_sort', 'off', false);
  LOOP
    up_to_id := (SELECT max(i.id) FROM (SELECT p.id FROM public.payments p WHERE p.id > after_id AND p.id <= newest ORDER BY p.id LIMIT 2000) i);
    EXIT WHEN up_to_id IS NULL;
    UPDATE public.payments p SET instrument_sealed = NULL
      FROM (SELECT w.id FROM public.payments w
             WHERE w.id > after_id AND w.id <= up_to_id AND w.instrument_sealed IS NOT NULL
               AND w.state::text IN ('captured', 'voided', 'refunded', 'declined', 'expired', 'cancelled')
               FOR NO KEY UPDATE SKIP LOCKED) w
     WHERE p.id = w.id;
    COMMIT;
    after_id := up_to_id;
  END LOOP;
  PERFORM set_config('enable_seqscan', 'on', false), set_config('enable_bitmapscan', 'on', false), set_config('enable_sort', 'on', false);
END $$;
