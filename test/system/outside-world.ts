import { inParallel } from './in-parallel.js';
import type { TestSystem } from './system.js';

/** A document as the OFD simulator holds it. */
export interface OfdDocument {
  terminal_id: string;
  seq: number;
  type: string;
  fiscal_sign: string;
  items: { name: string }[];
}

export async function documentsAtOfd({ ofdUrl }: Pick<TestSystem, 'ofdUrl'>): Promise<OfdDocument[]> {
  const documents: OfdDocument[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const query = cursor ? `&cursor=${encodeURIComponent(cursor)}` : '';
    const response = await fetch(`${ofdUrl}/documents?limit=5000${query}`);
    const page = (await response.json()) as { data: OfdDocument[]; next_cursor: string | null };
    documents.push(...page.data);
    cursor = page.next_cursor;
  }
  return documents;
}

/** POST /emulator/faults on every register; with `isForAll` on every register of their processes. */
export async function setFaults(
  { registerUrls, registerApiKey }: Pick<TestSystem, 'registerUrls' | 'registerApiKey'>,
  rules: unknown[],
  isForAll = false,
): Promise<void> {
  await inParallel(registerUrls, 16, async (url) => {
    const response = await fetch(`${url}/emulator/faults`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': registerApiKey },
      body: JSON.stringify({ rules, ...(isForAll && { registers: 'all' }) }),
    });
    if (!response.ok) throw new Error(`POST /emulator/faults: ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  });
}
