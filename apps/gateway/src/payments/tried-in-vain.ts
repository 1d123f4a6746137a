import { Prisma } from '#database';
import { SINCE_MADE } from './calls-of-payment.js';

/** An unanswered call is the saga's to find out about at first: its readings come every few seconds. After so long a person may. */
export const UNKNOWN_MINUTES = 10;

/**
 * Whether a payment `p` has waited so long for a call that its provider does not take: the time of its state says nothing, because each try
 * leaves it for a moment.
 */
export function triedFor(minutes: number): Prisma.Sql {
  const calledBefore = Prisma.sql`now() - make_interval(mins => ${minutes}::int4)`;
  return Prisma.sql`
    CASE WHEN p.state IN ('authorized', 'capture_refused', 'pending')
         THEN EXISTS (SELECT FROM payment_calls c
                       WHERE c.payment_id = p.id AND ${SINCE_MADE} AND c.call IN ('capture', 'void') AND c.started_at < ${calledBefore})
         WHEN p.state = 'captured'
         THEN EXISTS (SELECT FROM payment_refunds f
                       WHERE f.payment_id = p.id AND f.state IN ('waiting', 'requested') AND f.called_at < ${calledBefore})
         ELSE false END`;
}
