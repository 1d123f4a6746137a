import { givenRows, Prisma } from '#database';
import { newId } from '#runtime';
import { jsonOrNull } from '../statements.js';
import type { CloseRegistered } from './close.js';
import type { Intent } from './open.js';

/** What a lane writes at one moment: the result of one receipt, the intent of one, or both. */
export interface LaneEntry {
  readonly close: CloseRegistered | null;
  readonly next: Intent | null;
}

/**
 * What the parts of a statement read as `given g`: the number of an entry, its result (registeredParts) and its intent (intentParts). Of
 * what an entry does not have all is null.
 */
const COLUMNS = {
  device_id: 'text',
  attempt_id: 'text',
  receipt_id: 'text',
  outcome: 'jsonb',
  terminal_id: 'text',
  receipt_seq: 'bigint',
  fiscal_sign: 'text',
  verification_url: 'text',
  registered_ms: 'float8',
  evidence: 'evidence',
  recorded_fields: 'text[]',
  shift_number: 'int',
  ofd_sent: 'boolean',
  ofd_error: 'text',
  baseline: 'jsonb',
  last_known: 'jsonb',
  event_id: 'text',
  next_attempt_id: 'text',
  next_receipt_id: 'text',
  next_terminal_id: 'text',
  next_baseline: 'jsonb',
  request: 'bytea',
  server_started: 'timestamptz',
  held_event_id: 'text',
  may_be_there: 'boolean',
} as const;
type Column = keyof typeof COLUMNS;
type Given = Partial<Record<Column, unknown>>;

const OF_RESULT = [
  ...(['device_id', 'attempt_id', 'receipt_id', 'outcome', 'terminal_id', 'receipt_seq', 'fiscal_sign'] as const),
  ...([
    'verification_url',
    'registered_ms',
    'evidence',
    'recorded_fields',
    'shift_number',
    'ofd_sent',
    'ofd_error',
  ] as const),
  ...(['baseline', 'last_known', 'event_id'] as const),
];
const OF_INTENT = [
  ...(['device_id', 'next_attempt_id', 'next_receipt_id', 'next_terminal_id', 'next_baseline', 'request'] as const),
  ...(['server_started', 'held_event_id', 'may_be_there'] as const),
];

/** How long an entry may keep others waiting for a row that another transaction has locked. */
const LOCK_TIMEOUT = '100ms';

const SELECTED = Prisma.raw(
  ['number', ...Object.keys(COLUMNS)]
    .map((name) => (name === 'request' ? `decode(g.request, 'base64') AS request` : `g.${name}`))
    .join(', '),
);
const rowsOf = givenRows<Column>({ ...COLUMNS, request: 'text' });

/** One entry by itself: its values take the place of `g`'s columns in each part, and no row of it is ever made. */
export function givenOne(entry: LaneEntry): Prisma.Sql {
  const given = valuesOf(entry);
  const columns = new Set<Column>([...(entry.close ? OF_RESULT : []), ...(entry.next ? OF_INTENT : [])]);
  const values = [...columns].map((name) => {
    const value = COLUMNS[name] === 'jsonb' ? jsonOrNull(given[name] ?? null) : given[name];
    return Prisma.sql`${value ?? null}${AS[name]}`;
  });
  return Prisma.sql`given AS NOT MATERIALIZED (SELECT 0 AS number, ${Prisma.join(values)})`;
}

/** Entries of several lanes, by `number`. The setting is that of this transaction alone. */
export function givenMany(entries: readonly LaneEntry[]): Prisma.Sql {
  return Prisma.sql`
    given AS MATERIALIZED (
      SELECT ${SELECTED}
        FROM (SELECT set_config('lock_timeout', ${LOCK_TIMEOUT}, true) AS lock_timeout OFFSET 0) patience,
             ${rowsOf(entries.map(inJson))} g
       WHERE patience.lock_timeout IS NOT NULL
    )`;
}

function valuesOf({ close, next }: LaneEntry): Given {
  return { ...(close && resultOf(close)), ...(next && intentOf(next)) };
}

function resultOf(close: CloseRegistered): Given {
  const { attemptId, receiptId, deviceId, registration, evidence, baseline, lastKnown } = close;
  return {
    device_id: deviceId,
    attempt_id: attemptId,
    receipt_id: receiptId,
    outcome: { registration, evidence },
    terminal_id: registration.terminalId,
    receipt_seq: registration.receiptSeq,
    fiscal_sign: registration.fiscalSign,
    verification_url: registration.verificationUrl,
    registered_ms: registration.transactionTimeMs,
    evidence,
    recorded_fields: registration.recordedFields,
    shift_number: registration.shiftNumber,
    ofd_sent: registration.ofdSent,
    ofd_error: registration.ofdError,
    baseline,
    last_known: lastKnown,
    event_id: newId('evt'),
  };
}

function intentOf({ mayBeThere = false, ...intent }: Intent): Given {
  const { attemptId, receiptId, deviceId, baseline, request, laneLock } = intent;
  return {
    device_id: deviceId,
    next_attempt_id: attemptId,
    next_receipt_id: receiptId,
    next_terminal_id: baseline.terminalId,
    next_baseline: baseline,
    request,
    server_started: laneLock.serverStartedAt,
    held_event_id: newId('evt'),
    may_be_there: mayBeThere,
  };
}

/** A buffer has no JSON of its own that SQL could read. */
function inJson({ next, ...entry }: LaneEntry): Given {
  return { ...valuesOf({ ...entry, next }), ...(next && { request: next.request.toString('base64') }) };
}

const AS = Object.fromEntries(
  Object.entries(COLUMNS).map(([name, type]) => [name, Prisma.raw(`::${type} AS ${name}`)]),
) as Record<Column, Prisma.Sql>;
