import type { AddressInfo } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { PrismaService } from '#database';
import { createTestDatabase, sampleDocument, testClient, type TestDatabase } from '#database/testing';
import { FISCAL_FIELDS, buildVerificationLink, type Baseline, type CounterReading } from '#fiscal-domain';
import { LaneListener, laneQueueBackend, QueueCounters } from '#queue';
import { createFastifyNestApp } from '#http';
import { createLogger, Metrics, newId } from '#runtime';
import { VerifyAuditTrail } from '../../audit/verify-audit-trail.js';
import { GatewayModule } from '../../gateway.module.js';
import { testGatewaySettings } from '../../testing/gateway-settings.js';
import { hashAccessToken, newAccessToken } from '../../access/oauth/access-token.js';
import type { GatewaySettings } from '../../settings.js';
import type { ReceiptView } from '../../receipts/receipt-view.js';
import type { UnknownView } from '../list-unknown.js';

const logger = createLogger('gateway', 'error', { write: () => undefined });

export interface Answer {
  status: number;
  body: AnswerBody;
}

/** Whichever of the answers it is; what the test asks for is there. */
interface AnswerBody {
  code: string;
  errors: { pointer: string; code: string; detail?: string }[];
  attempt_id: string;
  refund_id?: string | null;
  receipt: ReceiptView;
  data: UnknownView[];
  next_cursor: string | null;
  state: string;
}

export interface TestAttempt {
  attemptId: string;
  receiptId: string;
  deviceId: string;
  terminalId: string;
  merchantId: string;
}

export interface AttemptSetup {
  state?: 'open' | 'unknown';
  type?: 'sale' | 'refund' | 'advance';
  baseline?: Partial<Baseline>;
  outcome?: Record<string, unknown> | null;
  device?: TestDevice;
  /** How long ago the intent was written. */
  ageSeconds?: number;
}

export interface TestDevice {
  deviceId: string;
  terminalId: string;
}

/** The gateway as it runs, on a database of its own, and the rows that a relay would have left there. */
export class OperatorFixture {
  readonly rung: string[] = [];
  merchantId = '';
  token = '';
  private terminals = 0;

  private constructor(
    readonly database: TestDatabase,
    readonly app: NestFastifyApplication,
    readonly prisma: PrismaService,
    private readonly listener: LaneListener,
    readonly base: string,
  ) {}

  /** @param through a way to the database that is not the straight one */
  static async start(
    more: Partial<GatewaySettings> = {},
    through: (databaseUrl: string) => Promise<string> = (url) => Promise.resolve(url),
  ): Promise<OperatorFixture> {
    const database = await createTestDatabase();
    const settings = testGatewaySettings({ url: await through(database.url) }, more);
    const app = await createFastifyNestApp(GatewayModule.create(settings, logger, new Metrics('gateway')), {
      logger,
      trustedProxies: settings.TRUSTED_PROXIES,
    });
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const backend = laneQueueBackend({ queueUrl: null, databaseUrl: database.url });
    const listener = new LaneListener(backend, new QueueCounters(), logger);
    const fixture = new OperatorFixture(
      database,
      app,
      testClient(settings.DATABASE_URL),
      listener,
      `http://127.0.0.1:${port}`,
    );
    listener.start((deviceId) => Promise.resolve(void fixture.rung.push(deviceId)), { concurrency: 4 });
    fixture.merchantId = await fixture.createMerchant();
    fixture.token = await fixture.createToken(fixture.merchantId, ['operator:resolve', 'receipts:read']);
    return fixture;
  }

  async stop(): Promise<void> {
    await this.listener.close(1_000);
    await this.app.close();
    await this.prisma.$disconnect();
    await this.database.drop();
  }

  async post(path: string, body: unknown, token = this.token): Promise<Answer> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const response = await fetch(`${this.base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, body: (await response.json()) as AnswerBody };
  }

  /** A person's decision about an attempt. */
  resolve(attemptId: string, body: unknown, token?: string): Promise<Answer> {
    return this.post(`/v1/operator/attempts/${attemptId}/resolve`, body, token);
  }

  async get(path: string, token = this.token): Promise<Answer> {
    const response = await fetch(`${this.base}${path}`, { headers: { authorization: `Bearer ${token}` } });
    return { status: response.status, body: (await response.json()) as AnswerBody };
  }

  async createMerchant(): Promise<string> {
    const id = newId('mer');
    await this.prisma.merchant.create({ data: { id, code: id, name: 'M', tin: '300000000' } });
    await this.prisma.branch.create({ data: { id: branchOf(id), merchantId: id, code: 'main', name: 'Main' } });
    return id;
  }

  async createToken(merchantId: string, scopes: string[]): Promise<string> {
    const id = newId('cli');
    await this.prisma.oauthClient.create({
      data: { id, merchantId, name: id, secretHash: new Uint8Array(32), scopes },
    });
    const token = newAccessToken();
    const expiresAt = new Date(Date.now() + 3_600_000);
    const tokenHash = new Uint8Array(hashAccessToken(token));
    await this.prisma.oauthToken.create({ data: { tokenHash, clientId: id, scopes, expiresAt } });
    return token;
  }

  async createDevice(
    more: {
      merchantId?: string;
      state?: 'online' | 'replaced' | 'blocked' | 'disabled';
      journalId?: string;
      capabilities?: string[];
    } = {},
  ): Promise<TestDevice> {
    const {
      merchantId = this.merchantId,
      state = 'online',
      journalId = null,
      capabilities = [...FISCAL_FIELDS],
    } = more;
    const deviceId = newId('dev');
    this.terminals += 1;
    const terminalId = `UZ${String(this.terminals).padStart(12, '0')}`;
    await this.prisma.device.create({
      data: {
        ...{ id: deviceId, merchantId, branchId: branchOf(merchantId), name: 'Till', baseUrl: 'http://127.0.0.1:9' },
        ...{ apiKeySealed: new Uint8Array(1), terminalId, journalId, state, capabilities },
        stateReason: state === 'online' ? null : 'because',
      },
    });
    const baseline = { terminalId, journalId, sequence: 100, reading: null };
    await this.prisma.lane.create({ data: { deviceId, baseline, failures: 3 } });
    return { deviceId, terminalId };
  }

  /** A receipt whose register did not answer, as the relay leaves it: the last document before it was number 100. */
  async createAttempt(setup: AttemptSetup = {}, merchantId = this.merchantId): Promise<TestAttempt> {
    const { state = 'unknown', type = 'sale', outcome = null, ageSeconds = 600 } = setup;
    const device = setup.device ?? (await this.createDevice({ merchantId }));
    const receiptId = await this.createReceipt(merchantId, device, {
      status: state === 'open' ? 'sending' : 'unknown',
      type,
    });
    const attemptId = newId('att');
    const { terminalId } = device;
    const baseline: Baseline = { terminalId, journalId: null, sequence: 100, reading: null, ...setup.baseline };
    await this.prisma.$executeRaw`
      INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, created_at, closed_at,
                            outcome)
      VALUES (${attemptId}, ${receiptId}, ${device.deviceId}, 1, ${state}::attempt_state,
              ${JSON.stringify(baseline)}::jsonb, ${Buffer.from('{}')}, 'relay-1',
              now() - make_interval(secs => ${ageSeconds}::int4), CASE WHEN ${state} = 'unknown' THEN now() END,
              ${outcome === null ? null : JSON.stringify(outcome)}::jsonb)`;
    return { attemptId, receiptId, merchantId, ...device };
  }

  async createReceipt(
    merchantId: string,
    device: TestDevice,
    more: { status: string; type?: string; fiscal?: { receiptSeq: number; sign?: string | null; evidence?: string } },
  ): Promise<string> {
    const id = newId('rcp');
    const { status, type = 'sale', fiscal } = more;
    const registeredAt = fiscal ? '2026-01-02T03:04:05Z' : null;
    await this.prisma.$executeRaw`
      INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id,
                            branch_id, cashier_id, document, total_tiyin, vat_total_tiyin, terminal_id, receipt_seq,
                            fiscal_sign, verification_url, registered_at, evidence, ofd_status, ofd_deadline_at)
      VALUES (${id}, ${merchantId}, 'cli_1', 'receipts', ${Buffer.alloc(32)}, ${type}::receipt_type,
              ${status}::receipt_status, nextval('lane_place_seq'), ${device.deviceId}, ${branchOf(merchantId)}, 'csh_1',
              ${JSON.stringify(sampleDocument())}::jsonb, 112000, 12000, ${fiscal ? device.terminalId : null},
              ${fiscal?.receiptSeq ?? null}::bigint, ${fiscal?.sign ?? null},
              ${fiscal?.sign ? link(device.terminalId, fiscal.receiptSeq, fiscal.sign) : null},
              ${registeredAt}::timestamptz, ${fiscal ? (fiscal.evidence ?? 'answer') : null}::evidence,
              ${fiscal ? 'pending' : null}::ofd_status, ${registeredAt}::timestamptz + interval '48 hours')`;
    return id;
  }

  /** What a register of another merchant has left that said it was this terminal: sales, and a deleted device. */
  async createRowsOfFalseRegister(terminalId: string, sequences: readonly number[]): Promise<void> {
    const merchantId = await this.createMerchant();
    const { deviceId } = await this.createDevice({ merchantId });
    for (const receiptSeq of sequences) {
      const fiscal = { receiptSeq, sign: '012345678901' };
      await this.createReceipt(merchantId, { deviceId, terminalId }, { status: 'registered', fiscal });
    }
    const data = { terminalId, deletedAt: new Date() };
    await this.prisma.device.update({ where: { id: deviceId }, data });
  }

  /** Everything that a decision could change, as one text: equal before and after a refusal. */
  async world(): Promise<string> {
    const tables = ['attempts', 'receipts', 'lanes', 'devices', 'events', 'audit_records'];
    const [row] = await this.prisma.$queryRawUnsafe<{ world: string }[]>(
      `SELECT concat_ws('|', ${tables.map((table) => `(SELECT jsonb_agg(to_jsonb(t) ORDER BY to_jsonb(t)::text) FROM ${table} t)`).join(', ')}) AS world`,
    );
    return row?.world ?? '';
  }

  receipt(id: string): Promise<Record<string, unknown>> {
    return this.prisma.receipt.findUniqueOrThrow({ where: { id } });
  }

  attempt(id: string): Promise<Record<string, unknown>> {
    return this.prisma.attempt.findFirstOrThrow({ where: { id } });
  }

  async events(subjectId: string): Promise<{ type: string; data: unknown }[]> {
    return this.prisma.$queryRaw`SELECT type, data FROM events WHERE subject_id = ${subjectId} ORDER BY position`;
  }

  /** The records about one target, after the whole trail was found intact. */
  async audited(targetId: string): Promise<{ action: string; before: unknown; after: unknown; actor: string }[]> {
    // Not by Jest's expect: benches start this fixture too.
    const { kind } = await this.app.get(VerifyAuditTrail).verifyAuditTrail(this.merchantId);
    if (kind !== 'intact') throw new Error(`the audit trail is ${kind}`);
    return this.prisma.$queryRaw`
      SELECT action, before, after, actor FROM audit_records WHERE target_id = ${targetId} ORDER BY sequence`;
  }
}

/** The OFD's link of 2 January 2026, 08:04:05 in Tashkent. */
export function link(terminalId: string, receiptSeq: number, fiscalSign: string): string {
  const parts = { terminalId, receiptSeq, compactTime: '20260102080405', fiscalSign };
  return buildVerificationLink('https://ofd.soliq.uz/check', parts);
}

export const SIGN = '012345678901';

/** What a person who has seen the document behind the attempt's baseline, number 101, says of it. */
export function claimOf({ terminalId }: TestAttempt): Record<string, unknown> {
  return { receipt_seq: 101, fiscal_sign: SIGN, verification_url: link(terminalId, 101, SIGN) };
}

export function reading(terminalId: string, sequence: number, saleCash = 0): CounterReading {
  const sums = { saleCash, saleCard: 0, refundCash: 0, refundCard: 0, saleVat: 0, refundVat: 0 };
  return { terminalId, sequence, sums };
}

function branchOf(merchantId: string): string {
  return merchantId.replace('mer_', 'brn_');
}
