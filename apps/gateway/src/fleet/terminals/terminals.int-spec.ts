// Promise: only a document that the tax office shows with the drawn word moves a terminal; nothing else that is sent does.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { moveTerminal } from './move-terminal.js';

let fixture: OperatorFixture;
let ofd: Server;
/** What the tax office answers, and what it was asked. */
let page: { status: number; body: string };
const asked: string[] = [];
let token: string;
let holder: string;

beforeAll(async () => {
  ofd = createServer((request, response) => {
    asked.push(request.url ?? '');
    // Like many pages it repeats what its address says.
    response.writeHead(page.status, { connection: 'close' }).end(`${request.url ?? ''}\n${page.body}`);
  });
  await new Promise<void>((resolve) => ofd.listen(0, '127.0.0.1', resolve));
  const { port } = ofd.address() as AddressInfo;
  fixture = await OperatorFixture.start({ OFD_CHECK_URL: `http://127.0.0.1:${String(port)}/check` });
  token = await fixture.createToken(fixture.merchantId, ['devices:admin']);
  holder = await fixture.createMerchant();
});
beforeEach(() => {
  page = { status: 200, body: '' };
  asked.length = 0;
});
afterAll(async () => {
  await fixture?.stop();
  await new Promise((resolve) => ofd?.close(resolve));
});

interface Contested {
  deviceId: string;
  terminalId: string;
}

async function contested(): Promise<Contested> {
  const device = await fixture.createDevice();
  await fixture.prisma.device.update({ where: { id: device.deviceId }, data: { state: 'claimed_elsewhere' } });
  await fixture.prisma.terminal.create({ data: { terminalId: device.terminalId, merchantId: holder } });
  return device;
}

const challenge = (deviceId: string, by = token) => fixture.post(`/v1/devices/${deviceId}/terminal-challenge`, {}, by);
const prove = (deviceId: string, url: string, by = token) =>
  fixture.post(`/v1/devices/${deviceId}/terminal-proof`, { verification_url: url }, by);
const linkOf = (terminalId: string, more = 's=123456789012'): string =>
  `https://ofd.soliq.uz/check?t=${terminalId}&r=7&c=20260110120000&${more}`;
const holderOf = (terminalId: string) => fixture.prisma.terminal.findUniqueOrThrow({ where: { terminalId } });

async function challenged(): Promise<Contested & { word: string }> {
  const device = await contested();
  const { status, body } = await challenge(device.deviceId);
  expect(status).toBe(201);
  return { ...device, word: String((body as unknown as { word: string }).word) };
}

test('201: a word of its own for each challenge; the one before is worth nothing', async () => {
  const { deviceId, terminalId, word } = await challenged();
  expect(word).toMatch(/^PROOF[0-9A-HJKMNP-TV-Z]{24}$/);
  expect((await challenge(deviceId)).body).not.toMatchObject({ word });
  page.body = `<li>${word}</li>`;
  expect((await prove(deviceId, linkOf(terminalId))).body.code).toBe('terminal_not_proven');
});

test('409 for a device whose terminal no other merchant holds', async () => {
  const { deviceId } = await fixture.createDevice();
  expect((await challenge(deviceId)).body.code).toBe('terminal_not_claimed_elsewhere');
});

test('404 for another merchant, which cannot use up tries either', async () => {
  const { deviceId, terminalId } = await challenged();
  const stranger = await fixture.createToken(holder, ['devices:admin']);
  for (const answer of [await challenge(deviceId, stranger), await prove(deviceId, linkOf(terminalId), stranger)]) {
    expect(answer.status).toBe(404);
  }
  expect(await fixture.prisma.terminalChallenge.findUniqueOrThrow({ where: { deviceId } })).toMatchObject({ tries: 0 });
});

test('200: only the operator’s page is asked, with what the link says; then the device may send', async () => {
  const { deviceId, terminalId, word } = await challenged();
  page.body = `<!doctype html><li>${word}</li>`;
  const url = linkOf(terminalId).replace('https://ofd.soliq.uz', 'https://evil.example');
  expect(await prove(deviceId, url)).toMatchObject({ status: 200, body: { state: 'online', terminal_id: terminalId } });
  expect(asked).toEqual([`/check?t=${terminalId}&r=7&c=20260110120000&s=123456789012`]);
  expect(await holderOf(terminalId)).toMatchObject({ merchantId: fixture.merchantId, proof: 'challenge' });
  expect(await fixture.prisma.terminalChallenge.count({ where: { deviceId } })).toBe(0);
  expect((await prove(deviceId, url)).body.code).toBe('challenge_missing');
});

test.each<[string, (one: Contested & { word: string }) => string, string]>([
  ['a word that the address brings', ({ terminalId, word }) => linkOf(terminalId, `s=${word}`), 'invalid_format'],
  [
    'a word in a parameter that is not ours',
    ({ terminalId, word }) => linkOf(terminalId, `s=1&x=${word}`),
    'terminal_not_proven',
  ],
  ['another terminal', () => linkOf('UZ999999999999'), 'contradicts_link'],
  ['no link', () => 'https://ofd.soliq.uz/check', 'invalid_format'],
])('422 for %s, though the page repeats what it is asked', async (_what, url, code) => {
  const one = await challenged();
  const { status, body } = await prove(one.deviceId, url(one));
  expect([status, body.code]).toEqual([422, code]);
  for (const path of asked) expect(path).not.toContain(one.word);
  expect(await holderOf(one.terminalId)).toMatchObject({ merchantId: holder });
});

test.each([
  [404, 422, 'terminal_not_proven'],
  [503, 503, 'ofd_unavailable'],
])('the OFD’s %s is %s %s', async (answered, status, code) => {
  const { deviceId, terminalId, word } = await challenged();
  page = { status: answered, body: word };
  const answer = await prove(deviceId, linkOf(terminalId));
  expect([answer.status, answer.body.code]).toEqual([status, code]);
});

test('409 once a challenge has expired, or the OFD was asked often enough for it', async () => {
  const { deviceId, terminalId, word } = await challenged();
  page.body = word;
  const where = { deviceId };
  await fixture.prisma.terminalChallenge.update({ where, data: { tries: 60 } });
  expect((await prove(deviceId, linkOf(terminalId))).body.code).toBe('challenge_missing');
  await fixture.prisma.terminalChallenge.update({ where, data: { tries: 0, expiresAt: new Date(0) } });
  expect((await prove(deviceId, linkOf(terminalId))).body.code).toBe('challenge_missing');
  expect(asked).toEqual([]);
  expect(await holderOf(terminalId)).toMatchObject({ merchantId: holder });
});

test('what the holder had in hand becomes unknown, its device stops, and both trails say so', async () => {
  const mine = await challenged();
  const { deviceId: theirs } = await fixture.createDevice({ merchantId: holder });
  const { terminalId } = mine;
  await fixture.prisma.device.update({ where: { id: theirs }, data: { terminalId } });
  const device = { deviceId: theirs, terminalId };
  const { receiptId, attemptId } = await fixture.createAttempt({ state: 'open', device }, holder);
  page.body = mine.word;
  expect((await prove(mine.deviceId, linkOf(mine.terminalId))).status).toBe(200);
  const { prisma } = fixture;
  expect(await prisma.attempt.findFirstOrThrow({ where: { id: attemptId } })).toMatchObject({ state: 'unknown' });
  expect(await prisma.receipt.findUniqueOrThrow({ where: { id: receiptId } })).toMatchObject({ status: 'unknown' });
  expect(await prisma.device.findUniqueOrThrow({ where: { id: theirs } })).toMatchObject({
    state: 'claimed_elsewhere',
  });
  const types = (
    await prisma.event.findMany({ where: { merchantId: holder, subjectId: { in: [theirs, receiptId] } } })
  ).map(({ type }) => type);
  expect(types.sort()).toEqual(['device.claimed_elsewhere', 'device.terminal_lost', 'receipt.unknown']);
  const records = await prisma.auditRecord.findMany({
    where: { action: { startsWith: 'terminal.' }, merchantId: holder },
  });
  expect(records.at(-1)).toMatchObject({ action: 'terminal.lose', targetId: mine.terminalId, address: null });
  // Neither learns who the other one is.
  const said = records.map(({ actor, before, after }) => ({ actor, before, after }));
  expect(JSON.stringify(said)).not.toContain(fixture.merchantId);
  const [, claimed] = await fixture.audited(mine.deviceId);
  expect(claimed).toMatchObject({ action: 'terminal.claim', after: { proof: 'challenge' } });
  expect(JSON.stringify(claimed)).not.toContain(holder);
});

test.each([
  ['claimed elsewhere', 'claimed_elsewhere'],
  ['disabled, and is enabled later', 'disabled'],
  ['not found to be claimed yet', 'online'],
] as const)('the lane begins anew and settles first where the device is %s', async (_what, state) => {
  const { prisma } = fixture;
  const { deviceId, terminalId } = await contested();
  const where = { deviceId };
  const known = { terminalId, journalId: null, sequence: 40, reading: null };
  await prisma.lane.update({ where, data: { baseline: known, lastKnown: { receiptSeq: 40 } } });
  await prisma.device.update({ where: { id: deviceId }, data: { state } });
  const { merchantId: toMerchantId } = fixture;
  await prisma.$transaction((tx) => moveTerminal(tx, { terminalId, toMerchantId, proof: 'operator' }));
  if (state === 'disabled') expect((await fixture.post(`/v1/devices/${deviceId}/enable`, {}, token)).status).toBe(200);
  expect(await prisma.device.findUniqueOrThrow({ where: { id: deviceId } })).toMatchObject({ state: 'online' });
  expect(await prisma.lane.findUniqueOrThrow({ where })).toMatchObject({
    ...{ baseline: null, lastKnown: null, mustSettle: true },
  });
});
