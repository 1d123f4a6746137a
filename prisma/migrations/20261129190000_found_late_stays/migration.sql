-- An attempt with a document that was found late stays until a person has decided what becomes of it: what has left is in no list.
CREATE OR REPLACE FUNCTION attempt_may_leave(a attempts, before timestamptz) RETURNS boolean
  LANGUAGE sql STABLE
AS $$
  SELECT a.state <> 'open' AND a.created_at < before AND a.closed_at < before
     AND (EXISTS (SELECT FROM receipts r
                   WHERE r.id = a.receipt_id AND r.status IN ('registered', 'rejected', 'cancelled') AND r.updated_at < before
                     AND r.ofd_status IS DISTINCT FROM 'pending'
                     AND (r.status = 'registered' OR NOT coalesce(a.outcome ? 'found_late', false)))
          OR (EXISTS (SELECT FROM archived_receipts k WHERE k.id = a.receipt_id)
              AND NOT EXISTS (SELECT FROM receipts r WHERE r.id = a.receipt_id)))
     AND NOT EXISTS (SELECT FROM receipts f
                      WHERE f.refund_of = a.receipt_id AND f.status NOT IN ('registered', 'rejected', 'cancelled'))
     AND NOT EXISTS (SELECT FROM attempts o WHERE o.receipt_id = a.receipt_id AND o.state = 'open')
     AND EXISTS (SELECT FROM attempts n WHERE n.device_id = a.device_id AND n.id > a.id AND n.state <> 'open')
$$;
