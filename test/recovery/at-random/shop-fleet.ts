import { Problem } from '#problems';
import { DeleteDevice } from '../../../apps/gateway/src/fleet/devices/delete-device.js';
import { SwitchDevice, type DeviceSwitch } from '../../../apps/gateway/src/fleet/devices/switch-device.js';
import { RefundReceipt } from '../../../apps/gateway/src/receipts/refunds/refund-receipt.js';
import type { RefundBody } from '../../../apps/gateway/src/receipts/refunds/refund-body.js';
import type { CopiedShop } from './copied-shop.js';

const CALLER = { merchantId: 'mer_1', actor: 'a person', address: null, requestId: 'req_1' };
const SWITCHES: readonly DeviceSwitch[] = ['disable', 'enable', 'enable', 'drain', 'resume'];
/** Longer than a device must have been drained before it may be deleted. */
const REST_MS = 16_000;

/** What clients do with what was sold, and people with devices, as the API lets them. */
export class ShopFleet {
  constructor(private readonly shop: CopiedShop) {}

  /** Of the whole sale or of a part of it: of an older one, or of one that was just sold. */
  async refund(): Promise<void> {
    const { chance, rows, app } = this.shop;
    const { rows: sales } = await rows.sql.query<{ id: string }>(
      `SELECT id FROM receipts WHERE status = 'registered' AND type = 'sale' ORDER BY id DESC LIMIT 20`,
    );
    if (sales.length === 0) return;
    const { id: saleId } = chance.pick(chance.happens(0.5) ? sales.slice(0, 3) : sales);
    const body: RefundBody = chance.happens(0.5)
      ? {}
      : { lines: [{ line: 1, qty: chance.pick(['0.5', '0.25', '1']) }] };
    const command = { merchantId: 'mer_1', clientId: 'cli_1', saleId, idempotencyKey: null, body, waitSeconds: 0 };
    const payBack = (): Promise<void> => Promise.resolve();
    const said = await answerOf(
      () => app.get(RefundReceipt).execute({ ...command, payBack }),
      ({ row }) => row.id,
    );
    this.shop.note(`${saleId} is to be refunded: ${said}`);
  }

  async switch(): Promise<void> {
    const { chance, app } = this.shop;
    const deviceId = chance.pick(await this.shop.liveDevices());
    const what = chance.pick(SWITCHES);
    const said = await answerOf(() => app.get(SwitchDevice).execute(CALLER, deviceId, what));
    this.shop.note(`${deviceId} ${what}: ${said}`);
  }

  /** Its register becomes that of another device, with the same module in it. */
  async exchangeDevice(): Promise<void> {
    const { app, chance } = this.shop;
    const deviceId = chance.pick(await this.shop.liveDevices());
    await app.get(SwitchDevice).execute(CALLER, deviceId, 'drain');
    await this.shop.pass(REST_MS);
    const said = await answerOf(() => app.get(DeleteDevice).execute(CALLER, deviceId));
    this.shop.note(`${deviceId} deleted: ${said}`);
    if (said === DONE) await this.shop.addDeviceFor(deviceId);
  }

  /** Sales of which registers have refunded more than was sold. */
  async refundedBeyond(): Promise<string[]> {
    const { rows } = await this.shop.rows.sql.query<{ id: string }>(
      `SELECT s.id FROM receipts s JOIN receipts f ON f.refund_of = s.id AND f.status = 'registered'
        GROUP BY s.id HAVING sum((f.document ->> 'totalTiyin')::bigint) > (s.document ->> 'totalTiyin')::bigint`,
    );
    return rows.map(({ id }) => id);
  }

  /** Every register is wanted again. */
  async openAll(): Promise<void> {
    for (const deviceId of await this.shop.liveDevices())
      for (const what of ['enable', 'resume'] as const)
        await this.shop.app.get(SwitchDevice).execute(CALLER, deviceId, what);
  }
}

const DONE = 'done';

/** @returns a word for the result, or what was refused */
export async function answerOf<T>(work: () => Promise<T>, word: (result: T) => string = () => DONE): Promise<string> {
  try {
    return word(await work());
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return `${error.code} ${error.errors.map(({ detail }) => detail).join('; ')}`;
  }
}
