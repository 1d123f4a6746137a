// Promise: of 2 000 messages through providers that fail in every way, while gateways are killed, no SMS is sent twice and every letter arrives under one Message-ID.
import type { PrismaService } from '#database';
import { sampleDocument, testClient } from '#database/testing';
import { newId } from '#runtime';
import { MailServer } from '../../libs/messages/src/testing/mail-server.js';
import { ACCOUNT, SimulatedProvider, type SendFault } from '../../libs/messages/src/testing/simulated-provider.js';
import { startSystem, type TestSystem } from '../system/system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const LETTERS = 200;
const SMS_BY_ESKIZ = 900;
const SMS_BY_PLAYMOBILE = 900;
const FAULTS: readonly SendFault[] = [
  ...([
    'drop_request',
    'drop_answer',
    'half_answer',
    'late_answer',
    'error_before',
    'error_after',
    'too_often',
  ] as const),
];
const DEADLINE_MS = 300_000;

let system: TestSystem;
let prisma: PrismaService;
let mail: MailServer;
let eskiz: SimulatedProvider;
let playmobile: SimulatedProvider;

beforeAll(async () => {
  mail = await MailServer.start();
  eskiz = await SimulatedProvider.start('eskiz');
  playmobile = await SimulatedProvider.start('playmobile');
  system = await startSystem({
    gateways: 2,
    relays: 0,
    env: { MESSAGE_ALLOWED_CIDRS: '127.0.0.0/8', MESSAGE_CALL_TIMEOUT_MS: '700' },
    scopes: ['clients:admin', 'messages:write', 'receipts:read'],
  });
  prisma = testClient(system.database.url, 3);
});
afterAll(async () => {
  await prisma?.$disconnect();
  await system?.stop();
  await Promise.all([mail?.stop(), eskiz?.stop(), playmobile?.stop()]);
});

/** A repeatable chance: the same faults in every run. */
function chanceFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

async function accountOf(merchant: TestSystem['merchant'], body: object): Promise<void> {
  const client = new (await import('../system/gateway-client.js')).GatewayClient(system.gatewayUrls, merchant);
  const { status, body: answer } = await client.post('/v1/message-accounts', { per_minute: 60_000, ...body });
  if (status !== 201) throw new Error(JSON.stringify(answer));
}

/** Receipts that are registered in this moment, each with its buyer. */
async function sell(merchantId: string, count: number, channel: 'email' | 'sms'): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => {
    const customer =
      channel === 'email'
        ? { email: `buyer${String(index)}@example.uz` }
        : { phone: `9989${String(10_000_000 + index)}` };
    const document = { ...sampleDocument(), customer, notify: { channels: [channel], language: 'uz' } };
    return { id: newId('rcp'), event: newId('evt'), sequence: index + 1, document };
  });
  await prisma.$executeRaw`
    INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document, total_tiyin,
                          vat_total_tiyin, terminal_id, receipt_seq, fiscal_sign, registered_at, evidence, ofd_status, ofd_deadline_at)
    SELECT r.id, ${merchantId}, 'cli_1', 'receipts', decode(repeat('00', 32), 'hex'), 'sale', 'registered', nextval('lane_place_seq'), NULL, r.document,
           112000, 12000, ${channel === 'email' ? 'UZ000000000001' : 'UZ000000000002'}, r.sequence, '012345678901', now(), 'answer', 'sent', now()
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS r(id text, sequence bigint, document jsonb)`;
  await prisma.$executeRaw`
    INSERT INTO events (id, merchant_id, type, subject_id, data)
    SELECT r.event, ${merchantId}, 'receipt.registered', r.id, '{}'
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS r(id text, event text)`;
}

/** As if the waiting of messages were over; what is under way is left alone. */
async function letTimePass(): Promise<void> {
  await prisma.$executeRaw`UPDATE messages SET due_at = now() WHERE state IN ('pending', 'unclear') AND due_at > now()`;
  await prisma.$executeRaw`
    UPDATE message_accounts SET due_at = now(), blocked_until = NULL WHERE lease_until IS NULL OR lease_until <= now()`;
}

async function killBoth(): Promise<void> {
  await Promise.all(system.gateways.map((gateway) => gateway.end('SIGKILL')));
  // Leases would end by themselves, a minute later.
  await prisma.$executeRaw`UPDATE message_accounts SET lease_until = now() WHERE lease_until IS NOT NULL`;
  await prisma.$executeRaw`UPDATE messages SET due_at = now() WHERE state = 'sending'`;
  await Promise.all(system.gateways.map((gateway) => gateway.start()));
}

/** The four waits below, each with its own deadline, and the starts between them. */
const TIMEOUT_MS = 5 * DEADLINE_MS;

const chaosTest = async (): Promise<void> => {
  const [one, two] = [system.merchant, await system.addMerchant()];
  const settings = {
    host: '127.0.0.1',
    port: String(mail.port),
    security: 'none',
    from_address: 'a@shop.example',
    from_name: 'S',
  };
  await accountOf(one, { provider: 'smtp', settings });
  const { email, password, from, login } = ACCOUNT;
  await accountOf(one, { provider: 'eskiz', settings: { api_url: eskiz.url, email, password, from } });
  await accountOf(two, {
    provider: 'playmobile',
    settings: { api_url: playmobile.url, login, password, originator: from },
  });
  for (const [index, there] of [eskiz, playmobile].entries()) {
    there.lateMs = 1_000;
    there.chaos = { share: 0.2, faults: FAULTS, chance: chanceFrom(index + 1) };
  }
  mail.chaos = {
    ...{ share: 0.25, chance: chanceFrom(7) },
    faults: ['greylist', 'cut_at_once', 'cut_at_rcpt', 'cut_in_letter', 'cut_after_letter', 'answer_4xx_after_letter'],
  };
  await sell(one.merchantId, LETTERS, 'email');
  await sell(one.merchantId, SMS_BY_ESKIZ, 'sms');
  await sell(two.merchantId, SMS_BY_PLAYMOBILE, 'sms');
  const total = LETTERS + SMS_BY_ESKIZ + SMS_BY_PLAYMOBILE;
  const finished = async (): Promise<number> => {
    await letTimePass();
    return prisma.message.count({ where: { finishedAt: { not: null } } });
  };
  for (const share of [0.1, 0.35, 0.6]) {
    await until('some are sent', finished, (count) => count >= total * share, DEADLINE_MS);
    await killBoth();
  }
  await until('all have come to an end', finished, (count) => count === total, DEADLINE_MS);
  for (const there of [eskiz, playmobile]) {
    const ids = there.taken.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(there.violations).toEqual([]);
  }
  const states = await prisma.message.groupBy({ by: ['channel', 'state', 'reason'], _count: true });
  // An SMS is sent, or ends as unclear; nothing that the provider has never got is called sent.
  expect(states.filter(({ state, reason }) => state !== 'sent' && reason !== 'unclear')).toEqual([]);
  const sent = await prisma.message.findMany({ where: { channel: 'sms', state: 'sent' }, select: { id: true } });
  const taken = new Set([...eskiz.taken, ...playmobile.taken].map(({ id }) => id));
  expect(sent.filter(({ id }) => !taken.has(id))).toEqual([]);
  const letters = await prisma.message.findMany({ where: { channel: 'email' }, select: { id: true, state: true } });
  expect(letters.filter(({ state }) => state !== 'sent')).toEqual([]);
  const byBuyer = new Map<string, Set<string>>();
  for (const { to, messageId } of mail.letters) byBuyer.set(to[0]!, (byBuyer.get(to[0]!) ?? new Set()).add(messageId));
  expect([byBuyer.size, [...byBuyer.values()].filter(({ size }) => size !== 1)]).toEqual([LETTERS, []]);
};

test('2 000 messages, every fault, both gateways killed three times', chaosTest, TIMEOUT_MS);
