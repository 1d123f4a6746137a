import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { WebSocket, WebSocketServer } from 'ws';
import { decodeFrame, encodeFrame, giveVerdict, greetRegister, LINK_PROTOCOL, RegisterLink } from '#link';
import { LocalApiClient } from '#local-api';
import { createLogger, newId, systemClock } from '#runtime';
import { freePorts } from '../libs/runtime/src/testing/free-ports.js';
import { answerChallenge, readChallenge, readVerdict } from '../libs/link/src/handshake.js';
import { Program } from '../test/system/program.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { openShift } from './latency.js';
import { localSale } from './local-sale.js';
import { memoryOf } from './memory.js';
import type { Figure } from './report.js';
import { alternate, median, percentile } from './statistics.js';

/** Dialled at the same time; a relay takes 200 strangers at once. */
const DIALLING = 50;

/** What a link adds to a sale, and what thousands of idle ones cost a relay. */
export async function benchLink(load: { rounds: number; sales: number; links: number }): Promise<Figure[]> {
  const scopes = ['receipts:write', 'receipts:read', 'devices:admin'];
  const system = await startSystem({ registers: 2, scopes });
  const folder = mkdtempSync(join(tmpdir(), 'fiscal-bench-'));
  const client = new pg.Client({ connectionString: system.database.ownerUrl });
  await client.connect();
  const programs: Program[] = [];
  try {
    programs.push(await linkSecondTill(system, client, folder));
    return [
      ...(await addedToCall(system, load, folder)),
      ...(await addedBySale(system, load)),
      ...(await idleLinks(system, client, load.links)),
    ];
  } finally {
    await client.end();
    await Promise.all(programs.map((program) => program.end()));
    await system.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the lane does with a receipt, prepare and send, over the link of the agent's own process and over HTTP. */
async function addedToCall(
  system: TestSystem,
  { rounds, sales }: { rounds: number; sales: number },
  folder: string,
): Promise<Figure[]> {
  const registerUrl = system.registerUrls[0] ?? '';
  const [apiKey, timeoutMs] = [system.registerApiKey, 20_000];
  await openShift(registerUrl, apiKey);
  const { link, end } = await linkHere(join(folder, 'here'), registerUrl);
  const linked = new LocalApiClient({ transport: link, apiKey, timeoutMs });
  const direct = new LocalApiClient({ baseUrl: registerUrl, apiKey, timeoutMs });
  try {
    await receipts(linked, sales);
    await receipts(direct, sales);
    const { a, b } = await alternate(
      rounds,
      () => receipts(linked, sales),
      () => receipts(direct, sales),
    );
    const of = (runs: number[][], percent: number): number => median(runs.map((run) => percentile(run, percent)));
    return [
      { name: 'link: p50 added to a call over HTTP', value: of(a, 50) - of(b, 50), unit: 'ms', target: '≤ 3' },
      { name: 'link: p99 added to a call over HTTP', value: of(a, 99) - of(b, 99), unit: 'ms' },
      { name: 'link: p50 of a call over the link', value: of(a, 50), unit: 'ms' },
      { name: 'link: p50 of a call over HTTP', value: of(b, 50), unit: 'ms' },
    ];
  } finally {
    direct.close();
    await end();
  }
}

async function receipts(client: LocalApiClient, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let sold = 0; sold < count; sold += 1) {
    const begun = performance.now();
    const preparation = await client.prepareReceipt(Buffer.from(localSale()), newId('rcp'));
    const answer = preparation.kind === 'ready' ? await preparation.call.send(() => true) : preparation;
    if (answer.kind !== 'registered') throw new Error(`the register answered ${JSON.stringify(answer)}`);
    times.push(performance.now() - begun);
  }
  return times;
}

/** The relay's end of one link in this process, the register's end in an agent's. */
async function linkHere(
  folder: string,
  registerUrl: string,
): Promise<{ link: RegisterLink; end: () => Promise<void> }> {
  const [port, health] = [await freePorts(1), await freePorts(1)];
  const server = new WebSocketServer({ host: '127.0.0.1', port, perMessageDeflate: false });
  const linked = new Promise<RegisterLink>((resolve) => {
    server.on('connection', (socket) => {
      void greetRegister(socket, { relay: `127.0.0.1:${port}`, timeoutMs: 10_000 }).then(() => {
        giveVerdict(socket, { type: 'accepted', epoch: '1', heartbeatMs: 600_000 });
        const logger = createLogger('bench', 'silent');
        const deviceId = newId('dev');
        resolve(
          new RegisterLink(socket, { deviceId, epoch: 1n, clock: systemClock, logger, onClosed: () => undefined }),
        );
      });
    });
  });
  const env = {
    ...{
      LINK_URL: `ws://127.0.0.1:${port}/link?device=${newId('dev')}`,
      LINK_ENROLMENT_CODE: 'BENCH',
      DATA_DIR: folder,
    },
    ...{ REGISTER_URL: registerUrl, AGENT_PORT: String(health), LOG_LEVEL: 'warn' },
  };
  const agent = new Program('agent-here', 'link-agent/src/main.js', env, `http://127.0.0.1:${health}/readyz`);
  await agent.start();
  const end = async (): Promise<void> => {
    await agent.end();
    server.close();
  };
  return { link: await linked, end };
}

/** The same gateway, relay and kind of register; only the way to the register differs. */
async function addedBySale(
  system: TestSystem,
  { rounds, sales }: { rounds: number; sales: number },
): Promise<Figure[]> {
  const [direct, linked] = [() => timed(system, 0, sales), () => timed(system, 1, sales)];
  await direct();
  await linked();
  const { a, b } = await alternate(rounds, linked, direct);
  const of = (runs: number[][], percent: number): number => median(runs.map((run) => percentile(run, percent)));
  return [
    { name: 'link: p50 added to a sale by the gateway', value: of(a, 50) - of(b, 50), unit: 'ms' },
    { name: 'link: p99 added to a sale by the gateway', value: of(a, 99) - of(b, 99), unit: 'ms' },
  ];
}

async function timed({ client }: TestSystem, till: number, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let sold = 0; sold < count; sold += 1) {
    const begun = performance.now();
    const { status } = await client.post('/v1/receipts', client.saleOf(till));
    if (status !== 201) throw new Error(`gateway answered ${status}`);
    times.push(performance.now() - begun);
  }
  return times;
}

async function linkSecondTill(system: TestSystem, client: pg.Client, folder: string): Promise<Program> {
  const till = system.merchant.tills[1];
  if (!till) throw new Error('there is no second till');
  await client.query(`UPDATE devices SET transport = 'link', base_url = NULL WHERE id = $1`, [till.deviceId]);
  const { body } = await system.client.post(`/v1/devices/${till.deviceId}/enrolments`, {});
  const { code, link_url } = body as unknown as { code: string; link_url: string };
  const port = await freePorts(1);
  const env = {
    ...{ LINK_URL: link_url, LINK_ENROLMENT_CODE: code, REGISTER_URL: till.registerUrl },
    ...{ DATA_DIR: folder, AGENT_PORT: String(port), LOG_LEVEL: 'warn' },
  };
  const agent = new Program('agent', 'link-agent/src/main.js', env, `http://127.0.0.1:${port}/readyz`);
  await agent.start();
  return agent;
}

interface IdleRegister {
  deviceId: string;
  privateKey: KeyObject;
}

async function idleLinks(system: TestSystem, client: pg.Client, links: number): Promise<Figure[]> {
  const registers = await enrolMany(system, client, links);
  const url = `ws${(system.relayUrls[0] ?? '').slice(4)}/link`;
  const before = memoryOf(system.relays)[0]?.value ?? Number.NaN;
  const begun = performance.now();
  const sockets: WebSocket[] = [];
  for (let next = 0; next < registers.length; next += DIALLING) {
    sockets.push(...(await Promise.all(registers.slice(next, next + DIALLING).map((one) => dial(url, one)))));
  }
  const seconds = (performance.now() - begun) / 1_000;
  await delay(5_000);
  const open = sockets.filter((socket) => socket.readyState === socket.OPEN).length;
  const added = (memoryOf(system.relays)[0]?.value ?? Number.NaN) - before;
  for (const socket of sockets) socket.terminate();
  const target = links === 5_000 ? '≤ 200' : '≤ 200 for 5 000';
  return [
    { name: `link: memory added by ${open} idle links`, value: added, unit: 'MiB', target },
    { name: 'link: per idle link', value: (added * 1_024) / open, unit: 'KiB' },
    { name: 'link: registers let in', value: links / seconds, unit: 'links/s' },
  ];
}

/** Devices with their keys, as so many enrolments would have left them. */
async function enrolMany({ merchant }: TestSystem, client: pg.Client, count: number): Promise<IdleRegister[]> {
  const registers = Array.from({ length: count }, () => ({
    deviceId: newId('dev'),
    privateKey: generateKeyPairSync('ed25519').privateKey,
  }));
  const ids = registers.map(({ deviceId }) => deviceId);
  const keys = registers.map(({ privateKey }) =>
    Buffer.from(privateKey.export({ format: 'jwk' }).x ?? '', 'base64url'),
  );
  await client.query(
    `INSERT INTO devices (id, merchant_id, branch_id, name, transport, api_key_sealed, profile)
     SELECT d, $2, (SELECT id FROM branches WHERE merchant_id = $2 LIMIT 1), 'idle', 'link', '\\x00', '{}'
       FROM unnest($1::text[]) d`,
    [ids, merchant.merchantId],
  );
  await client.query(
    `INSERT INTO link_keys (id, device_id, public_key) SELECT 'lky_' || d, d, k FROM unnest($1::text[], $2::bytea[]) AS r(d, k)`,
    [ids, keys],
  );
  return registers;
}

function dial(url: string, { deviceId, privateKey }: IdleRegister): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url}?device=${deviceId}`, LINK_PROTOCOL, { perMessageDeflate: false });
    socket.on('error', reject);
    socket.on('message', (data: Buffer) => {
      const header = decodeFrame(data)?.header ?? {};
      const challenge = readChallenge(header);
      if (challenge) socket.send(encodeFrame(answerChallenge(challenge, { deviceId, privateKey })));
      else if (readVerdict(header)?.type === 'accepted') resolve(socket);
      else reject(new Error(`refused: ${JSON.stringify(header)}`));
    });
  });
}
