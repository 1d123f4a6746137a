import { LocalApiClient } from '#local-api';
import type { RegisterGap } from '../../../apps/gateway/src/operator/restore/register-gaps.js';
import { commandLine } from '../../system/command-line.js';
import { sql } from '../../system/database.js';
import type { GatewayClient } from '../../system/gateway-client.js';
import { inParallel } from '../../system/in-parallel.js';
import { documentsAtOfd, type OfdDocument } from '../../system/outside-world.js';
import type { TestSystem } from '../../system/system.js';
import type { Sold } from './load.js';
import { groupByMarker } from './truth.js';

/** A promotion of a standby that lagged, on the clock of the test. */
export interface Promotion {
  /** Just before the standby lost its line: what was answered until then it has. */
  cutMs: number;
  /** The primary is dead: a call that began afterwards was taken by the promoted server. */
  killedMs: number;
}

/** Began before the primary died and was answered after the cut: only the primary may have had it. */
function isInLag({ answeredMs, tookMs }: Sold, promotions: readonly Promotion[]): boolean {
  return promotions.some(({ cutMs, killedMs }) => answeredMs >= cutMs && answeredMs - tookMs < killedMs);
}

/** Was called before the primary died, got no 2xx, and was called again afterwards. */
function isRepeatedAfterDeath({ startedMs, answeredMs, tookMs, setbacks }: Sold, promotions: readonly Promotion[]) {
  return promotions.some(
    ({ killedMs }) => setbacks.length > 0 && startedMs < killedMs && answeredMs - tookMs >= killedMs,
  );
}

/** What became of what clients were answered, as far as promotions took it from the gateway. */
export interface PromotionBooks {
  /** Answered with 2xx, and unknown to the database. */
  lost: Sold[];
  /** Of these, those that a register and the OFD have. */
  lostWithDocument: Sold[];
  /** Sold again by the client's own repetition, whose first call was lost. */
  soldAgain: Sold[];
  repeated: number;
  /** Documents of the OFD that the database does not know. */
  orphans: OfdDocument[];
  failures: string[];
}

export interface BooksOf {
  client: GatewayClient;
  prefix: string;
  sold: readonly Sold[];
  promotions: readonly Promotion[];
}

const idOf = ({ answer }: Sold): string => answer.body.id ?? '';
const nameOf = ({ terminal_id, seq }: Pick<OfdDocument, 'terminal_id' | 'seq'>): string => `${terminal_id}/${seq}`;

/**
 * Separates what a promotion may take from what it may not. May: a receipt that only the dead primary had is unknown afterwards, and
 * a client that repeats a call which only the dead primary had taken sells it again. Everything else is a failure.
 *
 * Called when the lanes have finished and the registers have delivered.
 */
export async function readPromotionBooks(system: TestSystem, of: BooksOf): Promise<PromotionBooks> {
  const { client, sold, promotions, prefix } = of;
  const failures: string[] = [];
  const known = await readKnown(system, client.merchant.merchantId);
  const documents = (await documentsAtOfd(system)).filter(({ items }) => items[0]?.name.startsWith(`${prefix}-`));
  const byMarker = groupByMarker(documents);
  const lost = sold.filter((one) => !known.ids.has(idOf(one)));
  for (const one of lost)
    if (!isInLag(one, promotions)) failures.push(`${one.marker} is unknown to the database and was not sold in a lag`);
  await inParallel(lost, 8, async (one) => {
    const { status } = await client.get(`/v1/receipts/${idOf(one)}`);
    if (status !== 404) failures.push(`GET of ${one.marker}, which the database does not know: ${status}`);
  });
  const documentsOf = ({ marker }: Sold): OfdDocument[] => byMarker.get(marker) ?? [];
  const soldAgain = sold.filter((one) => documentsOf(one).length > 1);
  const entries = await countJournalEntries(system, client, soldAgain);
  for (const one of soldAgain) {
    const held = documentsOf(one);
    const unknown = held.filter((document) => !known.documents.has(nameOf(document)));
    // One of the two is the receipt that the database knows, in one journal; the other came of a receipt that it never had.
    const isOwn = held.length - unknown.length === 1 && entries.get(one.marker) === 1;
    if (!isOwn || !isRepeatedAfterDeath(one, promotions))
      failures.push(
        `doubled, and not by a repetition of what was lost: ${one.marker} (${idOf(one)}) as ${held.map(nameOf).join(', ')}, ` +
          `${unknown.length} unknown, ${entries.get(one.marker)} entries under its key, after ${one.setbacks.join(', ') || 'no setback'}`,
      );
  }
  const orphans = documents.filter((document) => !known.documents.has(nameOf(document)));
  const explained = new Set([...lost, ...soldAgain].map(({ marker }) => marker));
  for (const orphan of orphans)
    if (!explained.has(orphan.items[0]?.name ?? '')) failures.push(`unknown to the database: ${nameOf(orphan)}`);
  failures.push(...differences(await gapsOf(system), orphans.map(nameOf)));
  return {
    lost,
    lostWithDocument: lost.filter((one) => documentsOf(one).length > 0),
    soldAgain,
    repeated: sold.filter((one) => isRepeatedAfterDeath(one, promotions)).length,
    orphans,
    failures,
  };
}

/** What an operator is named as missing. The registers are of this test alone: each number of theirs is a sale of it. */
async function gapsOf(system: TestSystem): Promise<string[]> {
  const since = new Date(Date.now() - 24 * 3_600_000).toISOString();
  const { status, stdout, stderr } = await commandLine(system, 'restore', 'gaps', '--since', since);
  if (status !== 0) throw new Error(`restore gaps: ${stderr}`);
  const { data } = JSON.parse(stdout) as { data: RegisterGap[] };
  return data.flatMap(({ terminal_id, from_seq, documents }) =>
    Array.from({ length: documents }, (_, nth) => nameOf({ terminal_id, seq: from_seq + nth })),
  );
}

function differences(named: readonly string[], missing: readonly string[]): string[] {
  const [names, misses] = [new Set(named), new Set(missing)];
  return [
    ...named.filter((name) => !misses.has(name)).map((name) => `restore gaps names ${name}, which is not missing`),
    ...missing.filter((name) => !names.has(name)).map((name) => `restore gaps does not name ${name}`),
  ];
}

async function readKnown(
  system: TestSystem,
  merchantId: string,
): Promise<{ ids: ReadonlySet<string>; documents: ReadonlySet<string> }> {
  const rows = await sql<{ id: string; terminal_id: string | null; receipt_seq: string | null }>(
    system.database,
    'SELECT id, terminal_id, receipt_seq FROM receipts WHERE merchant_id = $1',
    [merchantId],
  );
  const documents = rows.flatMap(({ terminal_id, receipt_seq }) =>
    terminal_id === null ? [] : [nameOf({ terminal_id, seq: Number(receipt_seq) })],
  );
  return { ids: new Set(rows.map(({ id }) => id)), documents: new Set(documents) };
}

/** Registers that have a document under the key of the receipt that the client was answered with, by marker. */
async function countJournalEntries(
  { registerApiKey }: TestSystem,
  { merchant }: GatewayClient,
  sold: readonly Sold[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map(sold.map(({ marker }) => [marker, 0]));
  await inParallel(merchant.tills, 8, async ({ registerUrl }) => {
    const register = new LocalApiClient({ baseUrl: registerUrl, apiKey: registerApiKey, timeoutMs: 20_000 });
    try {
      for (const one of sold) {
        const { kind } = await register.findByKey(idOf(one));
        if (kind === 'ok') counts.set(one.marker, (counts.get(one.marker) ?? 0) + 1);
      }
    } finally {
      register.close();
    }
  });
  return counts;
}
