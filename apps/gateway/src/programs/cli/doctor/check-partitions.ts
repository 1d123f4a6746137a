import type { Prisma, PrismaService } from '#database';
import { CALL_TABLES, isHalfPartitioned, mostUnderWay, readPartitions, type RunStatement } from '#ledger';
import { mostUnsettled } from '../../../payments/repository/unsettled-payments.js';
import { judged, well, type Finding } from './finding.js';

const ADVICE =
  'docs/alarms.md, "PartitionsBehind": the log of the relays says why; the session that holds the table up is ended with pg_terminate_backend(pid).';
const DELETE_ENDPOINT = 'Its merchant enables the webhook again or deletes it.';
const WAIT = 'It leaves by itself, WEBHOOK_KEEP_DAYS after they were finished.';
const HOUR_S = 3_600;
const DAY_S = 86_400;

/** Whether the partitions of the months to come are there, and those that are over leave. */
export async function checkPartitions(database: PrismaService): Promise<Finding[]> {
  const run: RunStatement = <Row>(statement: Prisma.Sql) => database.$queryRaw<Row[]>(statement);
  if (await isHalfPartitioned(run))
    return [
      {
        check: 'partitions ahead',
        state: 'bad',
        found: 'a table is not converted to partitions yet, and refuses rows of the months to come',
        do: 'Run npm run migrate: the migrations webhook_partitions…, event_partitions…, payment_partitions…, attempt_partitions… and receipt_partitions… belong together.',
      },
    ];
  const { daysAhead, keptSeconds, held, waiting, waitingSeconds } = await readPartitions(run);
  const kept = `last kept ${hours(keptSeconds)} ago`;
  return [
    judged(
      {
        check: 'partitions ahead',
        found: `made for ${daysAhead.toFixed(0)} days, ${kept}`,
        advice: `A running relay makes them within ten minutes. ${ADVICE}`,
      },
      // Half a month later than the keeper would have made the next one.
      -daysAhead,
      { warn: -75, bad: -30 },
    ),
    judged(
      {
        check: 'partitions kept',
        found: kept,
        advice: `Does a relay run? ${ADVICE}`,
      },
      keptSeconds,
      { warn: 6 * HOUR_S, bad: 48 * HOUR_S },
    ),
    judged(
      {
        check: 'partitions dropped',
        found: `${String(waiting)} taken off and not dropped${waiting > 0 ? `, the oldest ${hours(waitingSeconds)} ago` : ''}`,
        advice: `An archive of a large month may take days; else something keeps it. ${ADVICE}`,
      },
      waitingSeconds,
      { warn: 7 * DAY_S, bad: 30 * DAY_S },
    ),
    ...(held.includes('webhooks') ? [await heldFinding(database)] : []),
    ...(held.includes('payments') ? [await heldByPayments(database)] : []),
    ...(held.includes('attempts') ? [await heldByAttempts(database)] : []),
    ...(held.length === 0 ? [well('partitions that are over', 'all have been taken off')] : []),
  ];
}

async function heldFinding(database: PrismaService): Promise<Finding> {
  const rows = await database.$queryRaw<{ endpoint: string; merchant: string; pending: number }[]>`
    SELECT endpoint_id AS endpoint, merchant_id AS merchant, count(*)::int4 AS pending FROM webhook_deliveries
     WHERE state = 'pending' AND created_at < now() - interval '7 days'
     GROUP BY endpoint_id, merchant_id ORDER BY pending DESC LIMIT 3`;
  const [month] = await database.$queryRaw<{ name: string; ended: string }[]>`
    SELECT name, to_char(time_of_id(upper_id) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS ended FROM partitions_of('webhook_deliveries')
     WHERE upper_id IS NOT NULL AND name NOT LIKE '%\\_kept\\_%' ORDER BY upper_id LIMIT 1`;
  const name = month ? `${month.name}, which ended on ${month.ended},` : 'the oldest';
  const found = rows.map(
    ({ endpoint, merchant, pending }) => `${endpoint} of ${merchant}: ${String(pending)} not delivered`,
  );
  return {
    check: 'partitions that are over',
    state: 'warn',
    found: [`${name} has more than 5000 deliveries that are not finished, or were lately`, ...found].join('; '),
    do: `${rows.length > 0 ? DELETE_ENDPOINT : WAIT} Until then the month stays in the database (docs/webhooks.md, "What is kept").`,
  };
}

/** Of a month of calls to providers, or of theirs to us. */
async function heldByPayments(database: PrismaService): Promise<Finding> {
  const ends = await database.$queryRaw<{ of: string; at: Date }[]>`
    SELECT t.name AS of, min(time_of_id(p.upper_id)) AS at FROM partitioned_tables() t, partitions_of(t.name) p
     WHERE t.name = ANY(${[...CALL_TABLES]}::text[]) AND p.upper_id IS NOT NULL AND p.name NOT LIKE '%\\_kept\\_%' GROUP BY t.name`;
  const oldestOf = (table: string): Date => ends.find(({ of }) => of === table)?.at ?? new Date(0);
  const rows = await mostUnsettled(database, oldestOf('payment_calls'));
  const [text] = await database.$queryRaw<{ at: string | null }[]>`
    SELECT to_char(min(received_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS at FROM provider_callbacks
     WHERE (body IS NOT NULL OR body_sealed IS NOT NULL) AND received_at < ${oldestOf('provider_callbacks')}`;
  const found = rows.map(({ merchant, payments }) => `${merchant} has ${String(payments)} that are not settled`);
  return {
    check: 'partitions that are over',
    state: 'warn',
    found: [
      'an old month has more than 2000 calls of payments that are not settled, or calls of providers whose text is not cleared',
      ...found,
      ...(text?.at ? [`the oldest text is of ${text.at}`] : []),
    ].join('; '),
    do: 'GET /v1/payments/reconciliation of a merchant shows its payments. Texts are cleared by a gateway after PROVIDER_CALLBACK_KEEP_DAYS, which is to be less than PAYMENT_CALLS_KEEP_DAYS (docs/archive.md).',
  };
}

async function heldByAttempts(database: PrismaService): Promise<Finding> {
  const [month] = await database.$queryRaw<{ name: string; ended: string; from: string; below: string }[]>`
    SELECT name, to_char(time_of_id(upper_id) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS ended, lower_id AS from, upper_id AS below
      FROM partitions_of('attempts') WHERE upper_id IS NOT NULL AND name NOT LIKE '%\\_kept\\_%' ORDER BY upper_id LIMIT 1`;
  const rows = month ? await mostUnderWay(database, month) : [];
  const found = rows.map(({ merchant, receipts }) => `${merchant} has ${String(receipts)} receipts without an end`);
  return {
    check: 'partitions that are over',
    state: 'warn',
    found: [
      `${month ? `${month.name}, which ended on ${month.ended},` : 'an old month'} has more than 2000 attempts that have not left for the archive, or is not vacuumed yet`,
      ...found,
    ].join('; '),
    do: 'npm run cli -- archive list shows how far the archive is (docs/alarms.md, "ArchiveBehind"); GET /v1/operator/unknown of a merchant shows what waits for a person.',
  };
}

function hours(seconds: number): string {
  return `${String(Math.round(seconds / HOUR_S))} h`;
}
