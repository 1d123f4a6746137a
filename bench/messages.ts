import { MailServer } from '../libs/messages/src/testing/mail-server.js';
import { ACCOUNT, SimulatedProvider } from '../libs/messages/src/testing/simulated-provider.js';
import { sql } from '../test/system/database.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { until } from '../libs/runtime/src/testing/until.js';
import { processorTimeOf } from './processor-time.js';
import { alternate, median } from './statistics.js';
import type { Figure } from './report.js';

/**
 * (m) What a sale costs the gateway when its buyer gets a message, against one whose buyer gets none: processor time of the gateway
 * from the request to the sent message. The parts of it: the sale and its planning (the account is disabled, nothing is sent), an SMS,
 * a letter with its PDF.
 */
export async function benchMessages({ rounds, sales }: { rounds: number; sales: number }): Promise<Figure[]> {
  const [sms, mail] = [await SimulatedProvider.start('playmobile'), await MailServer.start()];
  const system = await startSystem({
    env: { MESSAGE_ALLOWED_CIDRS: '127.0.0.0/8' },
    scopes: ['receipts:write', 'receipts:read', 'clients:admin', 'messages:write'],
  });
  try {
    const { login, password, from } = ACCOUNT;
    const smsId = await accountOf(system, 'playmobile', { api_url: sms.url, login, password, originator: from });
    const letterSettings = {
      host: '127.0.0.1',
      port: String(mail.port),
      security: 'none',
      from_address: 'a@b.uz',
      from_name: 'S',
    };
    await accountOf(system, 'smtp', letterSettings);
    const plain = (): Promise<number> => perSale(system, sales, {}, 0);
    const bySms = { customer: { phone: '+998901234567' }, notify: { channels: ['sms'] } };
    const byMail = { customer: { email: 'a@example.uz' }, notify: { channels: ['email'] } };
    await plain();
    const sending = await alternate(rounds, plain, () => perSale(system, sales, bySms, sales));
    const letters = await alternate(rounds, plain, () => perSale(system, sales, byMail, sales));
    await system.client.call('PATCH', `/v1/message-accounts/${smsId}`, {
      body: JSON.stringify({ enabled: false }),
      headers: { 'content-type': 'application/json', authorization: await system.client.authorization() },
    });
    const planning = await alternate(rounds, plain, () => perSale(system, sales, bySms, 0));
    return [
      { name: 'messages: a sale without', value: median(sending.a), unit: 'ms of the gateway' },
      figureOf('the sale itself and its planning', planning, '≤ 1.05'),
      figureOf('with an SMS, sent', sending, '≤ 1.05'),
      figureOf('with a letter and its PDF, sent', letters, 'for information'),
    ];
  } finally {
    await system.stop();
    await Promise.all([sms.stop(), mail.stop()]);
  }
}

function figureOf(what: string, { a, b }: { a: number[]; b: number[] }, target: string): Figure {
  const ratios = b.map((value, round) => value / (a[round] ?? Number.NaN));
  return { name: `messages: ${what}`, value: median(ratios), unit: '× a sale without', target };
}

/** Milliseconds of the gateway's processor time for each sale, until its messages have come to an end. */
async function perSale(system: TestSystem, sales: number, more: object, messages: number): Promise<number> {
  const [before] = await sql<{ n: string }>(
    system.database,
    'SELECT count(*) AS n FROM messages WHERE finished_at IS NOT NULL',
  );
  const { spent } = await processorTimeOf(system, async () => {
    for (let sold = 0; sold < sales; sold += 1) {
      const { status } = await system.client.post('/v1/receipts', { ...system.client.saleOf(0), ...more });
      if (status !== 201) throw new Error(`a sale was answered with ${String(status)}`);
    }
    await until(
      'all messages are sent',
      async () =>
        Number(
          (
            await sql<{ n: string }>(
              system.database,
              'SELECT count(*) AS n FROM messages WHERE finished_at IS NOT NULL',
            )
          )[0]?.n,
        ),
      (count) => count >= Number(before?.n) + messages,
    );
  });
  return (spent.gateway * 1_000) / sales;
}

async function accountOf(system: TestSystem, provider: string, settings: Record<string, string>): Promise<string> {
  const { status, body } = await system.client.post('/v1/message-accounts', { provider, settings, per_minute: 60_000 });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id ?? '';
}
