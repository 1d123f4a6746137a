-- Receipts become partitions by the time of their ids, half a year each (docs/adr/0200-half-years-as-words-of-a-statement.md): three migrations up to
-- 20261128020200 that belong together. This one says up to which id the table of today will be a partition: to the end of a half-year that is at
-- least three weeks away, as until the last one no receipt beyond it may be written, and beyond every receipt that there is, also of a clock that
-- was ahead. Receipts of sandboxes have ids that stand behind all others, and stay in it.
-- What an operator has hung on the table, and the swap could not hand on as it is: it would go on with the partition of today alone, or mean something
-- else. Asked here, before anything is bound, and once more at the swap.
CREATE FUNCTION what_hangs_on_receipts() RETURNS text
  LANGUAGE sql STABLE SET search_path = public, pg_catalog, pg_temp
AS $$
  SELECT string_agg(DISTINCT what, '; ') FROM (
    SELECT format('%s reads it', r.ev_class::regclass) FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
     WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = 'receipts'::regclass
    UNION ALL
    SELECT format('the function %s reads it', d.objid::regprocedure) FROM pg_depend d
     WHERE d.classid = 'pg_proc'::regclass AND d.objid <> 'receipt_line(receipts)'::regprocedure
       AND ((d.refclassid = 'pg_class'::regclass AND d.refobjid = 'receipts'::regclass)
            OR (d.refclassid = 'pg_type'::regclass AND d.refobjid IN ('receipts'::regtype, 'receipts[]'::regtype)))
    UNION ALL
    SELECT format('the constraint %s of %s', c.conname, c.conrelid::regclass) FROM pg_constraint c
     WHERE 'receipts'::regclass IN (c.conrelid, c.confrelid) AND c.contype IN ('c', 'f', 'u', 'x')
       AND c.conname NOT IN ('receipts_in_lane_have_place', 'receipts_registered_are_fiscal', 'receipts_in_first')
    UNION ALL
    SELECT format('the column %s', a.attname) FROM pg_attribute a
     WHERE a.attrelid = 'receipts'::regclass AND a.attnum > 0 AND NOT a.attisdropped
       AND a.attname <> ALL ('{id,merchant_id,client_id,operation,idempotency_key,external_id,body_hash,type,status,lane_place,device_id,branch_id,cashier_id,total_tiyin,vat_total_tiyin,refund_of,payment_id,dispatch_before,created_at,updated_at,terminal_id,receipt_seq,fiscal_sign,verification_url,registered_at,evidence,ofd_status,ofd_deadline_at,ofd_sent_at,ofd_error,rejection,ofd_alerts,extra_info,recorded_fields,shift_number,moved_from,trace_parent,document}')
    UNION ALL
    SELECT format('the policy %s', p.polname) FROM pg_policy p
     WHERE p.polrelid = 'receipts'::regclass
       AND (NOT p.polpermissive OR p.polcmd <> '*' OR 0 = ANY (p.polroles)
            OR pg_get_expr(p.polqual, p.polrelid) IS DISTINCT FROM pg_get_expr(p.polwithcheck, p.polrelid))
    UNION ALL
    SELECT format('the trigger %s', t.tgname) FROM pg_trigger t
     WHERE t.tgrelid = 'receipts'::regclass AND NOT t.tgisinternal AND (t.tgenabled <> 'O' OR t.tgoldtable IS NOT NULL OR t.tgnewtable IS NOT NULL)
    UNION ALL
    SELECT format('the table %s that inherits', coalesce(nullif(i.inhrelid, 'receipts'::regclass), i.inhparent)::regclass) FROM pg_inherits i
     WHERE 'receipts'::regclass IN (i.inhrelid, i.inhparent)
    UNION ALL
    SELECT format('the right %s of %s', a.privilege_type, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee)::text || ' to pass it on' END)
      FROM pg_class c, aclexplode(c.relacl) AS a
     WHERE c.oid = 'receipts'::regclass AND a.grantee <> c.relowner AND (a.grantee = 0 OR a.is_grantable)
    UNION ALL
    SELECT CASE WHEN c.relforcerowsecurity THEN 'FORCE ROW LEVEL SECURITY' ELSE 'its REPLICA IDENTITY' END FROM pg_class c
     WHERE c.oid = 'receipts'::regclass AND (c.relforcerowsecurity OR c.relreplident <> 'd')
  ) AS hanging(what)
$$;
DO $$
DECLARE hanging text := what_hangs_on_receipts();
BEGIN
  IF hanging IS NOT NULL THEN
    RAISE EXCEPTION 'something hangs on the table receipts that partitions of it would not have: %', hanging
      USING HINT = 'Nothing was changed. Take it away, run the migrations again, and make it anew afterwards (docs/database.md, "Partitions").';
  END IF;
END $$;

DO $$
DECLARE
  newest text;
  latest timestamp;
  ends timestamp;
BEGIN
  -- Before the newest is read, so that none comes after it.
  LOCK TABLE receipts IN ACCESS EXCLUSIVE MODE;
  newest := (SELECT id FROM receipts WHERE id < 'rcp_t' ORDER BY id DESC LIMIT 1);
  IF newest !~ '^rcp_[0-7][0-9a-hjkmnp-tv-z]{25}$' THEN
    RAISE EXCEPTION 'a receipt has an id that no program of this system makes: %', newest
      USING HINT = 'Nothing was changed. Give that receipt and what names it another id, and run the migrations again.';
  END IF;
  IF time_of_id(newest) > now() + interval '2 years' THEN
    RAISE EXCEPTION 'a receipt has an id of a clock that was years ahead: %, of %', newest, time_of_id(newest)
      USING HINT = 'Nothing was changed. No partition would come until then. Give that receipt and what names it another id, and run the migrations again.';
  END IF;
  IF time_of_id(newest) > now() + interval '1 day' THEN
    RAISE WARNING 'receipts have ids of a clock that was ahead, up to %: until then they stay in one partition', time_of_id(newest);
  END IF;
  latest := greatest(now() + interval '21 days', time_of_id(newest)) AT TIME ZONE 'UTC';
  ends := date_trunc('year', latest) + CASE WHEN extract(month FROM latest) > 6 THEN interval '1 year' ELSE interval '6 months' END;
  EXECUTE format('ALTER TABLE receipts ADD CONSTRAINT receipts_in_first CHECK (id ~<~ %L OR id ~>=~ ''rcp_t'') NOT VALID',
                 first_id_at('rcp', ends AT TIME ZONE 'UTC'));
END $$;
