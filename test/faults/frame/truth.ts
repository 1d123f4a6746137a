import { HELD_BY_RESTORE } from '#database';
import { LocalApiClient } from '#local-api';
import { sql } from '../../system/database.js';
import type { Till } from '../../system/merchant.js';
import { inParallel } from '../../system/in-parallel.js';
import { documentsAtOfd, type OfdDocument } from '../../system/outside-world.js';
import type { TestSystem } from '../../system/system.js';
import { until } from '../../../libs/runtime/src/testing/until.js';
import type { Load, Sold } from './load.js';

/** What the outside world says about what was promised. */
export interface Verdict {
  receipts: number;
  lost: number;
  doubled: number;
  wrongOrder: number;
  parked: number;
  /** The first few of these with their evidence, for the failure where none may be. */
  whyParked?: string;
  failures: string[];
}

export interface JudgeOptions {
  prefix: string;
  tills: readonly Till[];
  /** Registers without extensions cannot be asked for a key: there the OFD alone is the judge. */
  hasJournal?: boolean;
  /** How long the lanes may need to finish what they have. */
  drainMs?: number;
  /** Documents with these item names were sold by others. */
  foreign?: ReadonlySet<string>;
  /** Registers whose numbering is known to be broken by the case itself (another data folder). */
  isRenumbered?: boolean;
  /** Failover may have taken a receipt to another register of these, whose journal has it then. */
  mayMove?: boolean;
  /** Whose place in a lane is another one than when they were accepted: moved by failover, or held and released. */
  outOfOrder?: ReadonlySet<string>;
}

interface LedgerRow {
  id: string;
  status: string;
  terminal_id: string | null;
  receipt_seq: string | null;
  fiscal_sign: string | null;
  /** Of its newest attempt that has one. */
  evidence: string | null;
}

const SAMPLES = 5;
/** Registers that are asked at the same time. */
const REGISTERS_AT_ONCE = 16;

/**
 * Counts what stands at the OFD and in the registers against what clients were promised. The gateway's own rows are asked
 * for two things only: whether it has finished, and what it says of itself, to be held against the same documents.
 */
export async function judge(
  system: TestSystem,
  loads: readonly Pick<Load, 'sold' | 'complaints'>[],
  options: JudgeOptions,
): Promise<Verdict> {
  const sold = loads.flatMap((load) => load.sold);
  const failures = summed(loads.flatMap((load) => load.complaints));
  const drained = await lanesFinish(system, options).catch((error: unknown) => String(error));
  if (typeof drained === 'string') failures.push(drained.slice(0, 400));
  await deliverUnsent(system, options.tills, failures);
  const documents = (await documentsAtOfd(system)).filter((document) => isOurs(document, options));
  const byMarker = groupByMarker(documents);
  failures.push(...(await sentEmpty(system)));
  const rows = await ledgerOf(system, sold);
  const { parked, unproven } = countParked(sold, rows);
  failures.push(...unproven, ...contradictions(sold, rows, byMarker));
  if (options.hasJournal !== false) failures.push(...(await askJournals(system, options, sold, byMarker)));
  const missing = sold.filter(({ marker }) => !byMarker.has(marker) && !parked.has(marker));
  const promised = new Set(sold.map(({ marker }) => marker));
  const strangers = [...byMarker.keys()].filter((marker) => !promised.has(marker) && !options.foreign?.has(marker));
  if (missing.length > 0)
    failures.push(
      `lost: ${listed(
        missing.map(({ marker }) => marker),
        rows,
        sold,
      )}`,
    );
  const doubled = [...byMarker].filter(([marker, held]) => held.length > 1 && promised.has(marker));
  if (doubled.length > 0)
    failures.push(
      `doubled: ${listed(
        doubled.map(([marker]) => marker),
        rows,
        sold,
      )}`,
    );
  // A client that gave up leaves a document that no client was promised; it was complained about already.
  if (strangers.length > 0) failures.push(`no client was promised ${strangers.slice(0, SAMPLES).join(', ')}`);
  return {
    receipts: sold.length,
    lost: missing.length,
    doubled: doubled.reduce((sum, [, held]) => sum + held.length - 1, 0),
    wrongOrder: countWrongOrder(
      sold.filter(({ marker }) => options.outOfOrder?.has(marker) !== true),
      byMarker,
    ),
    parked: parked.size,
    whyParked: listed([...parked], rows, sold),
    failures,
  };
}

/** An attempt without bytes stands for what another copy of the database may have sent; a relay never sends one. */
async function sentEmpty(system: TestSystem): Promise<string[]> {
  const sent = await sql<{ id: string }>(
    system.database,
    `SELECT id FROM attempts WHERE request = '' AND relay_id <> $1`,
    [HELD_BY_RESTORE],
  );
  return sent.length === 0 ? [] : [`${sent.length} requests were sent empty, the first is ${sent[0]?.id ?? ''}`];
}

/** A document of this case, or one that belongs to no sale. */
function isOurs({ items }: OfdDocument, { prefix, foreign }: JudgeOptions): boolean {
  const name = items[0]?.name ?? '';
  return name.startsWith(`${prefix}-`) || foreign?.has(name) === true;
}

export function groupByMarker(documents: readonly OfdDocument[]): Map<string, OfdDocument[]> {
  const grouped = new Map<string, OfdDocument[]>();
  for (const document of documents) {
    const marker = document.items[0]?.name ?? '';
    grouped.set(marker, [...(grouped.get(marker) ?? []), document]);
  }
  return grouped;
}

/** Waits until the lanes have finished what was accepted before a moment, or all of it. */
export async function lanesFinish(
  system: TestSystem,
  { tills, drainMs = 60_000, before }: Pick<JudgeOptions, 'tills' | 'drainMs'> & { before?: Date },
): Promise<null> {
  const devices = tills.map(({ deviceId }) => deviceId);
  await until(
    'every lane has finished',
    () =>
      sql<{ device: string; reason: string | null; waiting: number }>(
        system.database,
        `SELECT d.state || coalesce(': ' || d.state_reason, '') AS device, l.due_reason AS reason, count(*)::int AS waiting
           FROM receipts r JOIN devices d ON d.id = r.device_id JOIN lanes l ON l.device_id = d.id
          WHERE r.status IN ('accepted', 'sending') AND r.device_id IN (SELECT unnest($1::text[]))
            AND r.created_at < coalesce($2::timestamptz, 'infinity') GROUP BY 1, 2`,
        [devices, before ?? null],
      ).catch(() => [{ device: 'the database is away', reason: null, waiting: -1 }]),
    ({ length }) => length === 0,
    drainMs,
  );
  return null;
}

/** Asks the registers to hand over what is unsent, and compares their own counting with the OFD's. */
export async function deliverUnsent(system: TestSystem, tills: readonly Till[], failures: string[]): Promise<void> {
  const counters: { terminalId: string; currentReceiptSeq: number }[] = [];
  await inParallel(tills, REGISTERS_AT_ONCE, async ({ registerUrl }) => {
    const register = new LocalApiClient({ baseUrl: registerUrl, apiKey: system.registerApiKey, timeoutMs: 20_000 });
    try {
      await register.sendUnsentReceipts();
      const info = await register.fmInfo();
      if (info.kind === 'ok') counters.push(info.value);
      else failures.push(`GET /fm/info of ${registerUrl}: ${info.kind}`);
    } finally {
      register.close();
    }
  });
  const checks = await terminalChecks(system);
  const wrong: string[] = [];
  for (const { terminalId, currentReceiptSeq } of counters) {
    const held = checks.get(terminalId);
    // One number per registration ever made: a doubled one, whatever it is called, would be one too many.
    if (currentReceiptSeq !== (held?.held ?? 0) || (held?.gaps.length ?? 0) > 0) {
      wrong.push(`${terminalId} counts ${currentReceiptSeq} documents, the OFD ${held?.held ?? 0}`);
    }
  }
  failures.push(...summed(wrong));
}

interface TerminalCheck {
  terminal_id: string;
  held: number;
  gaps: unknown[];
}

async function terminalChecks({ ofdUrl }: TestSystem): Promise<Map<string, TerminalCheck>> {
  const response = await fetch(`${ofdUrl}/documents/checks`);
  const { data } = (await response.json()) as { data: TerminalCheck[] };
  return new Map(data.map((check) => [check.terminal_id, check]));
}

async function ledgerOf(system: TestSystem, sold: readonly Sold[]): Promise<Map<string, LedgerRow>> {
  const rows = await sql<LedgerRow>(
    system.database,
    `SELECT r.id, r.status::text AS status, r.terminal_id, r.receipt_seq, r.fiscal_sign,
            (SELECT a.outcome::text FROM attempts a WHERE a.receipt_id = r.id AND a.outcome IS NOT NULL
              ORDER BY a.number DESC LIMIT 1) AS evidence
       FROM receipts r WHERE r.id = ANY($1)`,
    [sold.map(({ answer }) => answer.body.id ?? '')],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

function countParked(
  sold: readonly Sold[],
  rows: ReadonlyMap<string, LedgerRow>,
): { parked: Set<string>; unproven: string[] } {
  const parked = new Set<string>();
  const unproven: string[] = [];
  for (const { marker, answer } of sold) {
    const row = rows.get(answer.body.id ?? '');
    if (row?.status !== 'unknown') continue;
    parked.add(marker);
    if (row.evidence === null) unproven.push(`${marker} is unknown without evidence`);
  }
  return { parked, unproven };
}

/** What the ledger calls registered must be that very document; what it calls anything else must not be lied about. */
function contradictions(
  sold: readonly Sold[],
  rows: ReadonlyMap<string, LedgerRow>,
  byMarker: ReadonlyMap<string, OfdDocument[]>,
): string[] {
  const wrong: string[] = [];
  for (const { marker, answer } of sold) {
    const row = rows.get(answer.body.id ?? '');
    if (!row) {
      wrong.push(`${marker} was answered with ${answer.status} and is not in the ledger`);
      continue;
    }
    if (row.status === 'rejected' || row.status === 'cancelled') wrong.push(`${marker} became ${row.status}`);
    if (row.status !== 'registered') continue;
    const held = byMarker
      .get(marker)
      ?.some(
        ({ terminal_id, seq, fiscal_sign }) =>
          terminal_id === row.terminal_id &&
          seq === Number(row.receipt_seq) &&
          (row.fiscal_sign === null || row.fiscal_sign === fiscal_sign),
      );
    if (!held) wrong.push(`${marker} is said to be ${row.terminal_id}/${row.receipt_seq}, and is not`);
  }
  return summed(wrong);
}

/** Our registers answer for every key: the journal, the OFD and the ledger name one and the same registration. */
async function askJournals(
  system: TestSystem,
  { tills, mayMove = false }: JudgeOptions,
  sold: readonly Sold[],
  byMarker: ReadonlyMap<string, OfdDocument[]>,
): Promise<string[]> {
  const wrong: string[] = [];
  const byDevice = new Map<string, Sold[]>(tills.map(({ deviceId }) => [deviceId, []]));
  for (const one of sold) byDevice.get(one.deviceId)?.push(one);
  const byTerminal = groupByTerminal(sold, byMarker);
  await inParallel(tills, REGISTERS_AT_ONCE, async ({ deviceId, registerUrl }) => {
    const register = new LocalApiClient({ baseUrl: registerUrl, apiKey: system.registerApiKey, timeoutMs: 20_000 });
    try {
      const own = mayMove ? byTerminal.get(await terminalOf(register)) : byDevice.get(deviceId);
      for (const { marker, answer } of own ?? []) {
        const document = byMarker.get(marker)?.[0];
        if (!document) continue;
        const held = await register.findByKey(answer.body.id ?? '');
        const receipt = held.kind === 'ok' ? held.value.receipt : null;
        if (receipt?.receiptSeq !== document.seq || receipt.terminalId !== document.terminal_id) {
          wrong.push(`${marker} has no entry ${document.seq} under its key in the journal`);
        }
      }
    } finally {
      register.close();
    }
  });
  return summed(wrong);
}

function groupByTerminal(
  sold: readonly Sold[],
  byMarker: ReadonlyMap<string, OfdDocument[]>,
): ReadonlyMap<string, Sold[]> {
  const grouped = new Map<string, Sold[]>();
  for (const one of sold) {
    const terminal = byMarker.get(one.marker)?.[0]?.terminal_id;
    if (terminal !== undefined) grouped.set(terminal, [...(grouped.get(terminal) ?? []), one]);
  }
  return grouped;
}

async function terminalOf(register: LocalApiClient): Promise<string> {
  const info = await register.fmInfo();
  if (info.kind !== 'ok') throw new Error(`GET /fm/info: ${info.kind}`);
  return info.value.terminalId;
}

/**
 * In order: a sale that was answered before another one at that register began stands before it. Counts documents that stand
 * before one whose client was answered earlier.
 */
export function countWrongOrder(sold: readonly Sold[], byMarker: ReadonlyMap<string, OfdDocument[]>): number {
  const byTerminal = new Map<string, { seq: number; startedMs: number; answeredMs: number }[]>();
  for (const { marker, startedMs, answeredMs } of sold) {
    const document = byMarker.get(marker)?.[0];
    if (!document) continue;
    const list = byTerminal.get(document.terminal_id) ?? [];
    list.push({ seq: document.seq, startedMs, answeredMs });
    byTerminal.set(document.terminal_id, list);
  }
  let wrong = 0;
  for (const list of byTerminal.values()) {
    let earliestAnswerBehindMs = Infinity;
    for (const { startedMs, answeredMs } of list.sort((left, right) => right.seq - left.seq)) {
      if (earliestAnswerBehindMs < startedMs) wrong += 1;
      earliestAnswerBehindMs = Math.min(earliestAnswerBehindMs, answeredMs);
    }
  }
  return wrong;
}

function listed(markers: readonly string[], rows: ReadonlyMap<string, LedgerRow>, sold: readonly Sold[]): string {
  const idOf = new Map(sold.map(({ marker, answer }) => [marker, answer.body.id ?? '']));
  return markers
    .slice(0, SAMPLES)
    .map((marker) => {
      const row = rows.get(idOf.get(marker) ?? '');
      const evidence = row?.status === 'unknown' ? `: ${row.evidence}` : '';
      return `${marker} (${idOf.get(marker)}, ${row?.status ?? 'no row'}${evidence})`;
    })
    .join(', ');
}

/** The first few, and how many there were. */
function summed(messages: readonly string[]): string[] {
  if (messages.length <= SAMPLES) return [...messages];
  return [...messages.slice(0, SAMPLES), `… ${messages.length} such in all`];
}
