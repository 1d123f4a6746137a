import { type ProblemDocument } from '#http';
import { newId } from '#runtime';
import { link, OperatorFixture, type TestDevice } from '../../operator/testing/operator-fixture.js';
import type { GatewaySettings } from '../../settings.js';
import type { ReceiptView } from '../receipt-view.js';

export interface SalesAnswer {
  status: number;
  headers: Headers;
  body: SalesBody;
}

/** Whichever of the answers it is; what the test asks for is there. */
export type SalesBody = ReceiptView &
  Omit<ProblemDocument, 'status' | 'type'> & {
    valid: boolean;
    next_cursor: string | null;
    data: ListedEntry[];
    left: { total: number; vat_total: number; lines: Record<string, unknown>[] };
  };

/** An entry of a list of receipts, or of a batch's results. */
type ListedEntry = Omit<ReceiptView, 'status'> & {
  status: number | string;
  replayed: boolean;
  receipt: ReceiptView | null;
  problem: ProblemDocument | null;
};

const GOODS = {
  bread: { spic: '01905001001000001', package_code: '1500001', units: 796, vat_percent: 12 },
  water: { spic: '02202001001000033', package_code: '1500044', units: 868, vat_percent: 12 },
  vodka: { spic: '02208001001000037', package_code: '1500052', units: 868, vat_percent: 12 },
} as const;

export const SIGN = '012345678901';
const SCOPES = ['receipts:write', 'receipts:read', 'refunds:write'];

/** The gateway as it runs, a till with goods to sell, and the rows that a relay would leave. */
export class SalesFixture {
  private sequence = 0;

  private constructor(
    readonly gateway: OperatorFixture,
    readonly device: TestDevice,
    readonly token: string,
  ) {}

  /** @param through a way to the database that is not the straight one */
  static async start(
    settings: Partial<GatewaySettings> = {},
    through?: (databaseUrl: string) => Promise<string>,
  ): Promise<SalesFixture> {
    const gateway = await OperatorFixture.start(settings, through);
    const { prisma, merchantId } = gateway;
    const device = await gateway.createDevice();
    await prisma.cashier.create({
      data: {
        ...{ id: newId('csh'), merchantId, branchId: merchantId.replace('mer_', 'brn_'), code: 'anna', name: 'Anna' },
        defaultDeviceId: device.deviceId,
      },
    });
    await prisma.classifierEntry.createMany({
      data: Object.values(GOODS).map(({ spic, package_code, units }) => ({
        ...{ spic, units, name: {}, packages: [{ code: package_code, name: 'шт' }], vatPercents: [0, 12] },
        ...{ marked: spic !== GOODS.bread.spic, cashAllowed: spic !== GOODS.vodka.spic, active: true, version: 1 },
      })),
    });
    return new SalesFixture(gateway, device, await gateway.createToken(merchantId, SCOPES));
  }

  stop(): Promise<void> {
    return this.gateway.stop();
  }

  async ask(
    method: string,
    path: string,
    body?: unknown,
    more: { token?: string; headers?: Record<string, string> } = {},
  ): Promise<SalesAnswer> {
    const response = await fetch(`${this.gateway.base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${more.token ?? this.token}`,
        prefer: 'respond-async',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...more.headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as SalesBody };
  }

  item(goods: keyof typeof GOODS, price: number, qty: number | string, more: object = {}): Record<string, unknown> {
    return { name: goods, price, qty, ...GOODS[goods], ...more };
  }

  saleOf(items: readonly object[], more: object = {}): Record<string, unknown> {
    return { items, payment: { method: 'cash' }, cashier_id: 'anna', ...more };
  }

  /** A sale that its register has registered. @returns its id */
  async sell(items: readonly object[], more: object = {}): Promise<string> {
    const { status, body } = await this.ask('POST', '/v1/receipts', this.saleOf(items, more));
    if (status !== 202) throw new Error(`not accepted: ${JSON.stringify(body)}`);
    await this.register(body.id);
    return body.id;
  }

  async register(receiptId: string, fiscal: { sign: string | null } = { sign: SIGN }): Promise<void> {
    this.sequence += 1;
    const { terminalId } = this.device;
    const url = fiscal.sign === null ? null : link(terminalId, this.sequence, fiscal.sign);
    await this.gateway.prisma.$executeRaw`
      UPDATE receipts SET status = 'registered', terminal_id = ${terminalId}, receipt_seq = ${this.sequence}::bigint,
                          fiscal_sign = ${fiscal.sign}, verification_url = ${url}, registered_at = now(),
                          evidence = 'answer', ofd_status = 'pending', ofd_deadline_at = now() + interval '48 hours'
       WHERE id = ${receiptId}`;
  }

  async move(receiptId: string, status: string): Promise<void> {
    await this.gateway.prisma.$executeRaw`
      UPDATE receipts SET status = ${status}::receipt_status WHERE id = ${receiptId}`;
  }

  refund(saleId: string, body?: object, headers: Record<string, string> = {}): Promise<SalesAnswer> {
    return this.ask('POST', `/v1/receipts/${saleId}/refunds`, body, { headers });
  }

  async left(saleId: string): Promise<SalesBody['left']> {
    return (await this.ask('GET', `/v1/receipts/${saleId}/refunds`)).body.left;
  }
}
