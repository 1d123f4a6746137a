import type { DeviceReading, DeviceTaskResult } from '#database';
import { parseCidr, type Cidr } from '#outgoing';
import { newId } from '#runtime';
import { apiDescription } from '../../../../../../test/api/api-document.js';
import { OperatorFixture } from '../../../operator/testing/operator-fixture.js';

export interface FleetAnswer {
  status: number;
  headers: Headers;
  body: FleetBody;
}

/** Whichever of the answers it is; what the test asks for is there. */
export interface FleetBody extends Record<string, unknown> {
  id: string;
  code: string;
  detail: string;
  data: { id: string; [key: string]: unknown }[];
  next_cursor: string | null;
  errors: { pointer: string; code: string }[];
}

export const REGISTER_URL = 'http://127.0.0.1:8765';

/** The gateway as it runs, on a database of its own; a test leaves in it what relays would. */
export class FleetFixture {
  private constructor(readonly gateway: OperatorFixture) {}

  static async start(settings: { maxDevices?: number } = {}): Promise<FleetFixture> {
    const gateway = await OperatorFixture.start({
      DEVICE_ALLOWED_CIDRS: [networkOf('127.0.0.0/8')],
      MAX_DEVICES_PER_MERCHANT: settings.maxDevices ?? 10_000,
    });
    gateway.token = await gateway.createToken(gateway.merchantId, ['devices:admin', 'receipts:write']);
    return new FleetFixture(gateway);
  }

  get merchantId(): string {
    return this.gateway.merchantId;
  }

  stop(): Promise<void> {
    return this.gateway.stop();
  }

  async ask(method: string, path: string, body?: unknown, token = this.gateway.token): Promise<FleetAnswer> {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(`${this.gateway.base}${path}`, init);
    const text = await response.text();
    const contentType = response.headers.get('content-type');
    apiDescription().assertDescribed({ method, path, status: response.status, contentType, text });
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? {} : JSON.parse(text)) as FleetBody,
    };
  }

  /** Another merchant with an administrator of its own. */
  async stranger(): Promise<{ merchantId: string; token: string }> {
    const merchantId = await this.gateway.createMerchant();
    return { merchantId, token: await this.gateway.createToken(merchantId, ['devices:admin', 'receipts:write']) };
  }

  /** Answers tasks as a relay would, until it is stopped. @returns the stop, and what was asked */
  answerTasks(
    answer: (task: { id: string; device_id: string; kind: string; params: unknown }) => DeviceTaskResult | null,
  ): {
    asked: string[];
    stop(): Promise<void>;
  } {
    const asked: string[] = [];
    let stopped = false;
    const { prisma } = this.gateway;
    const loop = async (): Promise<void> => {
      while (!stopped) {
        const rows = await prisma.$queryRaw<{ id: string; device_id: string; kind: string; params: unknown }[]>`
          SELECT id, device_id, kind, params FROM device_tasks WHERE state = 'waiting'`;
        for (const task of rows) {
          asked.push(task.kind);
          const result = answer(task);
          await prisma.$executeRaw`
            UPDATE device_tasks SET state = ${result ? 'done' : 'running'}::device_task_state,
                   lease_until = now() + interval '1 minute',
                   result = ${result === null ? null : JSON.stringify(result)}::jsonb WHERE id = ${task.id}`;
          if (result) await prisma.$executeRaw`SELECT pg_notify('device_task_done', ${task.id})`;
        }
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    const running = loop();
    return {
      asked,
      stop: async () => {
        stopped = true;
        await running;
      },
    };
  }

  deviceBody(more: Record<string, unknown> = {}): Record<string, unknown> {
    return { branch_id: 'main', name: 'Till', base_url: REGISTER_URL, api_key: 'a-secret-key', ...more };
  }

  terminalOf(deviceId: string): string {
    return `UZ${deviceId.slice(-12).toUpperCase()}`;
  }

  /** @returns the id of a device that was registered through the API */
  async register(more: Record<string, unknown> = {}): Promise<string> {
    const relay = this.answerTasks(({ device_id }) => this.introduction(this.terminalOf(device_id)));
    try {
      const { status, body } = await this.ask('POST', '/v1/devices', this.deviceBody(more));
      expect({ status, body }).toMatchObject({ status: 201 });
      return body.id;
    } finally {
      await relay.stop();
    }
  }

  /** What an inspection learns when all is well. */
  introduction(terminalId: string): DeviceTaskResult {
    const business = { name: 'M', tin: '300000000', phone: '', legalAddress: '', actualAddress: '' };
    return {
      kind: 'ok',
      value: {
        ...{ terminalId, journalId: newId('jrn'), capabilities: ['idempotency', 'journal'] },
        subscriptionExpiresAt: '2099-12-31T00:00:00.000Z',
        business: { ...business, branchId: 'b', branchAddress: '' },
        reading: readingOf(terminalId),
      },
    };
  }
}

export function readingOf(terminalId: string, more: Partial<DeviceReading> = {}): DeviceReading {
  return {
    ...{ terminalId, receiptSeq: 100, unsentReceipts: 0, maxUnsentReceipts: 858, zReportsUsed: 3, zReportsMax: 832 },
    ...{ unsentZReports: 0, shift: null, subscriptionState: 'active', oldestUnsentAt: null },
    ...more,
  };
}

function networkOf(text: string): Cidr {
  const parse = parseCidr(text);
  if (parse.kind === 'invalid') throw new Error(parse.reason);
  return parse.cidr;
}
