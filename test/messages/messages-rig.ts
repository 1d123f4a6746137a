import { SalesFixture } from '../../apps/gateway/src/receipts/testing/sales-fixture.js';
import type { GatewaySettings } from '../../apps/gateway/src/settings.js';
import { MailServer, type MailServerOptions } from '../../libs/messages/src/testing/mail-server.js';
import type { HttpProvider } from '../../libs/messages/src/testing/message-schemas.js';
import { ACCOUNT, SimulatedProvider } from '../../libs/messages/src/testing/simulated-provider.js';
import { parseCidr } from '#outgoing';
import { newId } from '#runtime';
import { untilTrue } from '../../libs/runtime/src/testing/until.js';

/** A message as the API shows it; what a test asks for is there. */
export interface ShownMessage {
  id: string;
  receipt_id: string;
  channel: string;
  source: string;
  to: string;
  state: string;
  reason: string | null;
  parts: number | null;
  cost: number | null;
  provider_word: string | null;
  attempt_count: number;
  attempts: { number: number; outcome: string | null; code: string | null; detail: string | null }[];
}

export interface RigAnswer {
  status: number;
  text: string;
  body: {
    [field: string]: unknown;
    id: string;
    code: string;
    errors: { pointer: string; code: string }[];
    data: Record<string, unknown>[];
  };
}

/** A merchant that sells and sends: the gateway as it runs, real mail servers, simulated providers. */
export class MessagesRig {
  readonly closing: (() => Promise<void>)[] = [];
  admin = '';

  private constructor(readonly sales: SalesFixture) {}

  static async start(settings: Partial<GatewaySettings> = {}): Promise<MessagesRig> {
    const loopback = parseCidr('127.0.0.0/8');
    if (loopback.kind === 'invalid') throw new Error(loopback.reason);
    const quick = { MESSAGE_ALLOWED_CIDRS: [loopback.cidr], MESSAGE_CALL_TIMEOUT_MS: 1_500 };
    const rig = new MessagesRig(await SalesFixture.start({ ...quick, ...settings }));
    const { gateway } = rig.sales;
    const scopes = ['clients:admin', 'messages:write', 'receipts:read', 'devices:admin'];
    rig.admin = await gateway.createToken(gateway.merchantId, scopes);
    return rig;
  }

  get prisma(): SalesFixture['gateway']['prisma'] {
    return this.sales.gateway.prisma;
  }

  async stop(): Promise<void> {
    await this.sales.stop();
    for (const close of this.closing) await close();
  }

  async ask(method: string, path: string, body?: unknown, token = this.admin): Promise<RigAnswer> {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(`${this.sales.gateway.base}${path}`, init);
    const text = await response.text();
    const body_ = (text.startsWith('{') ? JSON.parse(text) : {}) as RigAnswer['body'];
    return { status: response.status, text, body: body_ };
  }

  async created(path: string, body: unknown): Promise<string> {
    const answer = await this.ask('POST', path, body);
    if (answer.status !== 201) throw new Error(`${path} answered ${answer.status} ${answer.text}`);
    return answer.body.id;
  }

  async mailServer(options: MailServerOptions = {}): Promise<MailServer> {
    const server = await MailServer.start(options);
    this.closing.push(() => server.stop());
    return server;
  }

  async provider(code: HttpProvider): Promise<SimulatedProvider> {
    const there = await SimulatedProvider.start(code);
    this.closing.push(() => there.stop());
    return there;
  }

  mailAccount(server: Pick<MailServer, 'port'>, more: Record<string, unknown> = {}): Promise<string> {
    const settings = {
      ...{ host: '127.0.0.1', port: String(server.port), security: 'none' },
      ...{ from_address: 'chek@shop.example', from_name: 'Do‘kon' },
    };
    return this.created('/v1/message-accounts', { provider: 'smtp', settings, per_minute: 60_000, ...more });
  }

  smsAccount(there: SimulatedProvider, more: Record<string, unknown> = {}): Promise<string> {
    const { email, login, password, from } = ACCOUNT;
    const settings =
      there.provider === 'eskiz'
        ? { api_url: there.url, email, password, from }
        : { api_url: there.url, login, password, originator: from };
    return this.created('/v1/message-accounts', { provider: there.provider, settings, per_minute: 60_000, ...more });
  }

  /** A sale that was accepted. @returns its id */
  async accepted(more: object): Promise<string> {
    const { sales } = this;
    const { status, body } = await sales.ask(
      'POST',
      '/v1/receipts',
      sales.saleOf([sales.item('bread', 4_500_00, 1)], more),
    );
    if (status !== 202) throw new Error(`not accepted: ${JSON.stringify(body)}`);
    return body.id;
  }

  /** As a relay would: the row and its event. */
  async registered(receiptId: string, what: 'receipt' | 'refund' = 'receipt'): Promise<void> {
    await this.sales.register(receiptId);
    await this.published(`${what}.registered`, receiptId);
  }

  async published(type: string, receiptId: string): Promise<void> {
    await this.prisma.$executeRaw`
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      VALUES (${newId('evt')}, ${this.sales.gateway.merchantId}, ${type}, ${receiptId}, '{}'::jsonb)`;
  }

  async sold(more: object): Promise<string> {
    const id = await this.accepted(more);
    await this.registered(id);
    return id;
  }

  async messagesOf(receiptId: string): Promise<ShownMessage[]> {
    const { body } = await this.ask('GET', `/v1/receipts/${receiptId}/messages`);
    return body.data as unknown as ShownMessage[];
  }

  /** Waits until the receipt's messages are as wanted. */
  async until(receiptId: string, states: readonly string[]): Promise<ShownMessage[]> {
    let shown: ShownMessage[] = [];
    await untilTrue(
      async () => {
        shown = await this.messagesOf(receiptId);
        return (
          shown
            .map(({ state }) => state)
            .sort()
            .join() === [...states].sort().join()
        );
      },
      () => `messages of ${receiptId}: ${JSON.stringify(shown)}`,
    );
    return shown;
  }

  /** As if every waiting time were over. */
  async letTimePass(): Promise<void> {
    await this.prisma.$executeRaw`UPDATE messages SET due_at = now() WHERE state IN ('pending', 'sending', 'unclear')`;
    await this.prisma.$executeRaw`
      UPDATE message_accounts SET due_at = now(), blocked_until = NULL, lease_until = NULL WHERE disabled_at IS NULL`;
  }

  async events(type: string): Promise<Record<string, unknown>[]> {
    const rows = await this.prisma.$queryRaw<{ data: Record<string, unknown> }[]>`
      SELECT data FROM events WHERE type = ${type} AND merchant_id = ${this.sales.gateway.merchantId} ORDER BY position`;
    return rows.map(({ data }) => data);
  }
}
