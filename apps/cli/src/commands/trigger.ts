import type { Command } from 'commander';
import type { FiscalEvent, FiscalGateway, Receipt, SaleBody } from '#sdk';
import { CommandError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { wholeNumber } from '../read-input.js';
import { inSession, type Session, type World } from '../session.js';

interface TriggerOptions {
  item?: string;
  cashier: string;
  price: string;
  wait: string;
}

/** What is sold so that the event comes: the value of `metadata.sandbox`; null: an ordinary sale. */
const SALES: Readonly<Record<string, string | null>> = {
  'receipt.accepted': null,
  'receipt.registered': null,
  'receipt.rejected': 'rejected_E-003',
  'receipt.unknown': 'unknown',
  'receipt.ofd_sent': 'ofd_backlog_1',
  'receipt.cancelled': 'offline_30',
  'refund.accepted': null,
  'refund.registered': null,
  'device.unreachable': 'offline_5',
  'device.blocked': 'refused_E-001',
};

const LONGEST_WAIT_S = 3_600;
const POLL_MS = 300;

export function addTrigger(program: Command, world: World): void {
  program
    .command('trigger')
    .argument('<event>', Object.keys(SALES).join(', '))
    .description('in a sandbox: sell so that this event comes, and show it')
    .option('--item <name>', 'the name of a product; else the first of the catalogue')
    .option('--cashier <id>', 'our id or your code', 'cashier-1')
    .option('--price <tiyin>', 'of one piece, VAT included', '450000')
    .option('--wait <seconds>', 'how long to wait for the event', '120')
    .action(inSession<[string, TriggerOptions]>(world, trigger));
}

async function trigger(session: Session, type: string, options: TriggerOptions): Promise<ExitCode> {
  const value = SALES[type];
  if (value === undefined) throw new CommandError(`${type} is none of ${Object.keys(SALES).join(', ')}.`);
  const { client_id: clientId } = await session.profile();
  if (!clientId.startsWith('cli_test_'))
    throw new CommandError('Events are triggered in a sandbox alone, and this client is of a live merchant.');
  const waitMs = wholeNumber(options.wait, '--wait', { min: 1, max: LONGEST_WAIT_S }) * 1000;
  const fgw = await session.client();
  const from = await fgw.events.end({ signal: session.stopping });
  const receipt = await sell(session, fgw, { value, options });
  const subject = await goOn(session, fgw, { type, receipt, waitMs });
  const event = await awaited(session, fgw, { type, subject, from, waitMs });
  session.output.record(event, [
    ['event', event.type],
    ['id', event.id],
    ['of', subject],
    ['receipt', receipt.id],
  ]);
  return EXIT.done;
}

async function sell(
  { stopping: signal }: Session,
  fgw: FiscalGateway,
  { value, options }: { value: string | null; options: TriggerOptions },
): Promise<Receipt> {
  const name = options.item ?? (await firstProduct(fgw, signal));
  const price = wholeNumber(options.price, '--price', { min: 1, max: 999_999_999_999 });
  const sale = {
    items: [{ name, price, qty: 1 }],
    payment: { method: 'cash' },
    cashier_id: options.cashier,
    ...(value !== null && { metadata: { sandbox: value } }),
  } as SaleBody;
  return fgw.receipts.create(sale, { idempotencyKey: `trigger-${String(Date.now())}`, waitS: 0, signal });
}

/** What follows the sale. @returns whom the event is about */
async function goOn(
  { stopping: signal }: Session,
  fgw: FiscalGateway,
  { type, receipt, waitMs }: { type: string; receipt: Receipt; waitMs: number },
): Promise<string> {
  if (type.startsWith('device.')) return receipt.device_id ?? '';
  if (type === 'receipt.cancelled') await fgw.receipts.cancel(receipt.id, { signal });
  if (!type.startsWith('refund.')) return receipt.id;
  await fgw.receipts.waitUntilFinal(receipt.id, { timeoutMs: waitMs, signal });
  const refund = await fgw.receipts.refund(
    receipt.id,
    {},
    { idempotencyKey: `${receipt.id}-refund`, waitS: 0, signal },
  );
  return refund.id;
}

async function firstProduct(fgw: FiscalGateway, signal: AbortSignal): Promise<string> {
  const [product] = await fgw.products.list({ limit: 1 }, { signal }).toArray({ limit: 1 });
  if (product === undefined) throw new CommandError('The catalogue is empty: name a product with --item.');
  const { ru, uz, en } = product.name;
  return ru ?? uz ?? en ?? product.sku;
}

async function awaited(
  { stopping }: Session,
  fgw: FiscalGateway,
  { type, subject, from, waitMs }: { type: string; subject: string; from: string | null; waitMs: number },
): Promise<FiscalEvent> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(waitMs)]);
  try {
    for await (const event of fgw.events.follow({ types: [type], cursor: from }, { signal, idleMs: POLL_MS })) {
      if (Object.values(event.data).includes(subject)) return event;
    }
  } catch (error) {
    if (!signal.aborted || stopping.aborted) throw error;
  }
  throw new CommandError(`No ${type} of ${subject} within ${String(waitMs / 1000)} s.`);
}
