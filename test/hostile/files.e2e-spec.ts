// Promise: whatever file a merchant sends, it costs that import at most: the gateway keeps running, answers others, and needs little more memory.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { FILE_MEDIA_TYPES } from '#http';
import { startSystem, type TestSystem } from '../system/system.js';
import { HOSTILE_FILES, type HostileFile } from './files.js';
import { CAN_MEASURE } from './processor-time.js';

/** At the peak of one file, above what the process held before it with its garbage collected: most need 10 to 30. */
const MAX_GROWTH_MIB = 60;
/** Of one file, and of all together, once the garbage is collected. */
const MAX_KEPT_MIB = 8;

let system: TestSystem;
let token = '';

beforeAll(async () => {
  const preload = pathToFileURL(join(process.cwd(), 'test/hostile/settled-memory.mjs')).href;
  system = await startSystem({
    ...{ relays: 0, scopes: ['catalog:write', 'catalog:read'] },
    env: { NODE_OPTIONS: `--import=${preload}` },
  });
  token = await system.client.fetchToken();
});
afterAll(() => system?.stop());

interface Sent {
  status: number;
  state: string;
  reason: string;
  answerBytes: number;
}

async function send(format: HostileFile['format'], bytes: Buffer): Promise<Sent> {
  const base = system.gatewayUrls[0] ?? '';
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${base}/v1/catalog/imports`, {
    method: 'POST',
    headers: { ...headers, 'content-type': FILE_MEDIA_TYPES[format] },
    body: new Uint8Array(bytes),
  });
  let text = await response.text();
  let view = JSON.parse(text) as { id: string; state: string; error?: string; detail?: string };
  while (view.state === 'running') {
    await delay(100);
    text = await (await fetch(`${base}/v1/catalog/imports/${view.id}`, { headers })).text();
    view = JSON.parse(text) as typeof view;
  }
  return {
    status: response.status,
    state: view.state,
    reason: view.detail ?? view.error ?? '',
    answerBytes: text.length,
  };
}

/** Of the gateway, MiB. */
function memory(field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${system.gateways[0]?.pid ?? 0}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) / 1_024;
}

/** What the gateway holds once its garbage is collected, MiB: it says so itself when it is asked. */
async function held(): Promise<number> {
  const [gateway] = system.gateways;
  const said = (): string[] => gateway?.said.match(/^settled: \d+/gm) ?? [];
  const before = said().length;
  gateway?.signal('SIGUSR2');
  while (said().length === before) await delay(20);
  return Number(/\d+/.exec(said().at(-1) ?? '')?.[0]) / 1_024 ** 2;
}

/** From now on the peak is counted anew (Linux). */
function forgetPeak(): void {
  writeFileSync(`/proc/${system.gateways[0]?.pid ?? 0}/clear_refs`, '5');
}

/** What an ordinary import needs is there when the rest is measured. */
async function warmUp(): Promise<void> {
  const row = (at: number): string => `w-${at},01905001001000001,Хлеб ${at},1500001,12\n`;
  const file = `sku,spic,name_ru,package_code,vat_percent\n${Array.from({ length: 3_000 }, (_, at) => row(at)).join('')}`;
  for (let round = 0; round < 4; round += 1) expect((await send('csv', Buffer.from(file))).state).toBe('done');
  // As large as the hostile ones: what comes over a connection is cleared away some dozens of megabytes at a time.
  const large = file + `,,,,${' '.repeat(50_000)}\n`.repeat(1_200);
  expect((await send('csv', Buffer.from(large))).state).toBe('done');
}

test('no file ends the gateway or keeps its memory, and each is answered with a reason', async () => {
  await warmUp();
  const atRest = await held();
  const { pid } = system.gateways[0] ?? {};
  const tooMuch: string[] = [];
  for (const { what, format, bytes } of HOSTILE_FILES) {
    const file = await bytes();
    const heldBefore = await held();
    const before = CAN_MEASURE ? memory('VmRSS') : 0;
    if (CAN_MEASURE) forgetPeak();
    const { status, state, reason, answerBytes } = await send(format, file);
    const growth = CAN_MEASURE ? memory('VmHWM') - before : 0;
    const kept = (await held()) - heldBefore;
    if (growth > MAX_GROWTH_MIB || kept > MAX_KEPT_MIB)
      tooMuch.push(`${what}: ${growth.toFixed(0)} MiB at its peak, ${kept.toFixed(1)} MiB kept`);
    expect([what, answerBytes < 4_096, system.gateways[0]?.pid]).toEqual([what, true, pid]);
    // Refused at once, or in its job where reading it took longer than a caller waits: for a reason of its own.
    const isRefused = status === 422 || state === 'failed';
    if (isRefused) expect([what, reason]).toEqual([what, expect.stringMatching(/^(?!The database )./)]);
    else expect([what, state]).toEqual([what, 'done']);
  }
  expect(tooMuch).toEqual([]);
  expect((await held()) - atRest).toBeLessThan(MAX_KEPT_MIB);
}, 900_000);
