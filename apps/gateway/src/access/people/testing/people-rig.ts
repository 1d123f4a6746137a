import type { AddressInfo } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { PrismaService } from '#database';
import { createTestDatabase, testClient, type TestDatabase } from '#database/testing';
import { createFastifyNestApp } from '#http';
import { createLogger, Metrics, newId } from '#runtime';
import { GatewayModule } from '../../../gateway.module.js';
import type { Role } from '../../../http/roles.js';
import type { GatewaySettings } from '../../../settings.js';
import { testGatewaySettings } from '../../../testing/gateway-settings.js';
import { totpAt } from '../credentials/totp.js';
import { Invitations } from '../invitations/invitations.js';

export const ORIGIN = 'https://console.test';
export const PASSWORD = 'correct horse battery';

const logger = createLogger('gateway', 'error', { write: () => undefined });

/** Whichever of the answers it is; what the test asks for is there. */
export interface AnswerBody {
  code?: string;
  request_id?: string;
  id: string;
  url: string;
  redirect_url: string | null;
  client_secret: string;
  totp: { secret: string };
  user: { id: string };
  session: { id: string; step_up_until: string | null };
  memberships: unknown[];
  data: Record<string, unknown>[];
}

export interface RigAnswer {
  status: number;
  headers: Headers;
  /** Null: empty. */
  body: AnswerBody | null;
  code: string | null;
}

export interface Asking {
  body?: unknown;
  headers?: Record<string, string>;
  /** Which gateway, from 0. */
  at?: number;
  /** Left out: those of a page of the console. */
  page?: Record<string, string>;
  merchant?: string;
}

/** Gateways as they run, on one database, and people with browsers. */
export class PeopleRig {
  private constructor(
    readonly database: TestDatabase,
    readonly prisma: PrismaService,
    readonly apps: NestFastifyApplication[],
    readonly bases: string[],
  ) {}

  /** @param port of the first gateway; 0: any */
  static async start(gateways = 1, more: Partial<GatewaySettings> = {}, port = 0): Promise<PeopleRig> {
    const database = await createTestDatabase();
    const rig = new PeopleRig(database, testClient(database.url), [], []);
    const settings = testGatewaySettings({ url: database.url }, { CONSOLE_URL: `${ORIGIN}/console`, ...more });
    for (let index = 0; index < gateways; index += 1) await rig.add(settings, index === 0 ? port : 0);
    return rig;
  }

  async add(settings: GatewaySettings, port = 0): Promise<void> {
    const app = await createFastifyNestApp(GatewayModule.create(settings, logger, new Metrics('gateway')), { logger });
    await app.listen(port, '127.0.0.1');
    this.apps.push(app);
    this.bases.push(`http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`);
  }

  get app(): NestFastifyApplication {
    const [app] = this.apps;
    if (!app) throw new Error('no gateway has been started');
    return app;
  }

  async stop(): Promise<void> {
    for (const app of this.apps) await app.close();
    await this.prisma.$disconnect();
    await this.database.drop();
  }

  async createMerchant(): Promise<string> {
    const id = newId('mer');
    await this.prisma.merchant.create({ data: { id, code: id, name: `Shop ${id.slice(-4)}`, tin: '300000000' } });
    return id;
  }

  /** @returns what stands behind the link's `#` */
  async invite(email: string, roles: Role[], merchantId: string | null): Promise<string> {
    const caller = { merchantId: merchantId ?? 'platform', actor: 'test', address: null, requestId: 'r' };
    const { url } = await this.app.get(Invitations).create(caller, { email, roles, merchantId });
    return url.split('#')[1] ?? '';
  }

  browser(): Browser {
    return new Browser(this);
  }

  /** A user of our own, logged in. */
  async join(name: string, roles: Role[], merchantId: string | null): Promise<Browser> {
    const browser = this.browser();
    browser.email = `${name}.${newId('x').slice(-6)}@shop.uz`;
    const token = await this.invite(browser.email, roles, merchantId);
    const shown = await browser.post('/auth/invitation', { token });
    browser.secret = shown.body?.totp.secret ?? '';
    const code = totpAt(browser.secret, Date.now() / 1_000);
    const accepted = await browser.post('/auth/invitation/accept', { token, name, password: PASSWORD, code });
    if (accepted.status !== 200) throw new Error(`the invitation answered ${JSON.stringify(accepted.body)}`);
    browser.userId = accepted.body?.user.id ?? '';
    return browser;
  }

  /** The second factor that was shown last counts no more. */
  async makeStale(userId: string): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE user_sessions SET stepped_up_at = now() - interval '1 hour' WHERE user_id = ${userId}`;
  }
}

/** A person in front of a browser: cookies, and the headers that a page of the console sends. */
export class Browser {
  readonly cookies = new Map<string, string>();
  email = '';
  secret = '';
  userId = '';

  constructor(private readonly rig: PeopleRig) {}

  /** A code that was not used yet. */
  async code(): Promise<string> {
    await this.rig.prisma.$executeRaw`UPDATE users SET totp_step = 0 WHERE email = ${this.email}`;
    return totpAt(this.secret, Date.now() / 1_000);
  }

  async logIn(): Promise<RigAnswer> {
    return this.post('/auth/login', { email: this.email, password: PASSWORD, code: await this.code() });
  }

  async stepUp(): Promise<RigAnswer> {
    return this.post('/v1/session/step-up', { code: await this.code() });
  }

  get(path: string, more: Asking = {}): Promise<RigAnswer> {
    return this.ask('GET', path, more);
  }

  post(path: string, body: unknown = {}, more: Asking = {}): Promise<RigAnswer> {
    return this.ask('POST', path, { body, ...more });
  }

  async ask(method: string, path: string, more: Asking = {}): Promise<RigAnswer> {
    const {
      body,
      at = 0,
      merchant,
      page = { origin: ORIGIN, 'fgw-console': '1', 'sec-fetch-site': 'same-origin' },
    } = more;
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(`${this.rig.bases[at] ?? ''}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...page,
        ...(cookie !== '' && { cookie }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(merchant !== undefined && { 'fgw-merchant': merchant }),
        ...more.headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    for (const line of response.headers.getSetCookie()) this.keep(line);
    const text = await response.text();
    const parsed = text === '' ? null : (JSON.parse(text) as AnswerBody);
    return { status: response.status, headers: response.headers, body: parsed, code: parsed?.code ?? null };
  }

  private keep(line: string): void {
    const [pair = ''] = line.split(';');
    const at = pair.indexOf('=');
    if (/Max-Age=0(;|$)/.test(line)) this.cookies.delete(pair.slice(0, at));
    else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
}

export function codesOf(answers: readonly RigAnswer[]): unknown[] {
  return answers.map(({ status, code }) => [status, code]);
}

/** Asks until it is answered so; the time that it took. */
export async function msUntil(
  ask: () => Promise<RigAnswer>,
  isReached: (answer: RigAnswer) => boolean,
): Promise<number> {
  const begun = performance.now();
  while (!isReached(await ask())) if (performance.now() - begun > 30_000) throw new Error('it was never answered so');
  return performance.now() - begun;
}
