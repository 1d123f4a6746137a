import type { Command } from 'commander';
import { isSettled, WaitTimeoutError, type FiscalGateway, type Receipt, type RefundBody, type SaleBody } from '#sdk';
import { CommandError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { receiptColumns, receiptFacts } from '../output/receipt-facts.js';
import { somOf } from '../output/table.js';
import { wholeNumber } from '../read-input.js';
import { inSession, type Session, type World } from '../session.js';
import { readRefund, readSale, type RefundOptions, type SaleInput } from './sale-input.js';
import { addTail } from './tail.js';

interface KeyAndWait {
  key?: string;
  wait: string;
}

interface ListOptions {
  limit: string;
  status?: string;
  externalId?: string;
  from?: string;
  to?: string;
}

const LONGEST_WAIT_S = 3_600;
/** So long the gateway may hold an answer back. */
const LONGEST_HOLD_S = 60;

export function addReceipts(program: Command, world: World): void {
  const receipts = program.command('receipts').description('sales, refunds and their fiscal receipts');
  saleOptions(receipts.command('create').description('sell'))
    .option('--key <key>', 'the Idempotency-Key: the number of the sale in your system')
    .option('--wait <seconds>', 'how long to wait for the register; 0 = not at all', '30')
    .action(inSession<[SaleInput & KeyAndWait]>(world, create));
  saleOptions(receipts.command('validate').description('all checks of a sale; nothing is stored')).action(
    inSession<[SaleInput]>(world, validate),
  );
  receipts.command('get').argument('<id>').description('one receipt').action(inSession<[string]>(world, get));
  receipts
    .command('list')
    .description('the newest receipts')
    .option('--limit <number>', 'how many', '20')
    .option('--status <status>', 'accepted, registered, rejected, unknown …')
    .option('--external-id <number>', 'your own number of the sale')
    .option('--from <time>', 'created then or later, RFC 3339')
    .option('--to <time>', 'created before')
    .action(inSession<[ListOptions]>(world, list));
  receipts
    .command('refund')
    .argument('<id>', 'of the sale')
    .description('take a sale back, wholly or in part')
    .option('--line <line:qty>', 'only this quantity of this line; may be given several times', collect, [])
    .option('--file <path>', 'the refund as JSON, - for standard input')
    .option('--external-id <number>', 'your own number of the refund')
    .option('--key <key>', 'the Idempotency-Key: the number of the refund in your system')
    .option('--wait <seconds>', 'how long to wait for the register; 0 = not at all', '30')
    .action(inSession<[string, RefundOptions & KeyAndWait]>(world, refund));
  receipts
    .command('cancel')
    .argument('<id>')
    .description('take a receipt that was not sent yet out of its lane')
    .action(inSession<[string]>(world, cancel));
  addTail(receipts, world, { description: 'what happens to receipts, as it happens', types: 'receipt.*,refund.*' });
}

function saleOptions(command: Command): Command {
  return command
    .option('--file <path>', 'the sale as JSON, - for standard input')
    .option('--item <name>', 'instead of a file: the name of a product')
    .option('--price <tiyin>', 'of one piece, VAT included')
    .option('--qty <number>', 'how much of it', '1')
    .option('--method <method>', 'cash, card, wallet', 'cash')
    .option('--cashier <id>', 'our id or your code')
    .option('--external-id <number>', 'your own number of the sale: does what a key does');
}

async function create(session: Session, options: SaleInput & KeyAndWait): Promise<ExitCode> {
  const waitS = waitOf(options);
  const sale = await readSale(options, session.world.stdin);
  const fgw = await session.client();
  const receipt = await fgw.receipts.create(
    sale as SaleBody & { external_id: string },
    callOf(session, options, waitS),
  );
  return showWhenDone(session, fgw, { receipt, waitS });
}

async function refund(session: Session, id: string, options: RefundOptions & KeyAndWait): Promise<ExitCode> {
  const waitS = waitOf(options);
  const body = await readRefund(options, session.world.stdin);
  const fgw = await session.client();
  const call = callOf(session, options, waitS);
  const receipt = await fgw.receipts.refund(id, body as RefundBody & { external_id: string }, call);
  return showWhenDone(session, fgw, { receipt, waitS });
}

async function validate(session: Session, options: SaleInput): Promise<ExitCode> {
  const sale = await readSale(options, session.world.stdin);
  const valid = await (await session.client()).receipts.validate(sale, { signal: session.stopping });
  session.output.record(valid, [
    ['valid', 'yes; nothing was stored'],
    ['total', somOf(valid.total)],
    ['VAT', somOf(valid.vat_total)],
    ['register', valid.device_id],
    ['cashier', valid.cashier_id],
    ...valid.items.map(({ line, name, qty, total }) => [`line ${line}`, `${qty} × ${name} = ${somOf(total)}`] as const),
  ]);
  return EXIT.done;
}

async function get(session: Session, id: string): Promise<ExitCode> {
  const receipt = await (await session.client()).receipts.get(id, { signal: session.stopping });
  session.output.record(receipt, receiptFacts(receipt, session.output.colours));
  return EXIT.done;
}

async function list(session: Session, options: ListOptions): Promise<ExitCode> {
  const limit = wholeNumber(options.limit, '--limit', { min: 1, max: 10_000 });
  const { status, externalId: external_id, from: created_from, to: created_to } = options;
  const filters = { status: status as never, external_id, created_from, created_to, limit: Math.min(limit, 100) };
  const fgw = await session.client();
  const receipts = await fgw.receipts.list(filters, { signal: session.stopping }).toArray({ limit });
  session.output.table(receiptColumns, receipts);
  return EXIT.done;
}

async function cancel(session: Session, id: string): Promise<ExitCode> {
  const receipt = await (await session.client()).receipts.cancel(id, { signal: session.stopping });
  session.output.record(receipt, receiptFacts(receipt, session.output.colours));
  return EXIT.done;
}

/** The SDK refuses a sale that has neither key nor external_id. */
function callOf({ stopping: signal }: Session, { key: idempotencyKey }: KeyAndWait, waitS: number) {
  return { idempotencyKey: idempotencyKey as string, waitS: Math.min(waitS, LONGEST_HOLD_S), signal };
}

async function showWhenDone(
  { output, stopping: signal }: Session,
  fgw: FiscalGateway,
  { receipt, waitS }: { receipt: Receipt; waitS: number },
): Promise<ExitCode> {
  const last =
    isSettled(receipt) || waitS === 0
      ? receipt
      : await fgw.receipts.waitUntilFinal(receipt.id, { timeoutMs: waitS * 1000, signal }).catch(lastState);
  output.record(last, receiptFacts(last, output.colours));
  if (waitS === 0 && !isSettled(last)) return EXIT.done;
  return exitCodeOf(last);
}

/** What was read last is shown, too. */
function lastState(error: unknown): Receipt {
  if (error instanceof WaitTimeoutError) return error.receipt;
  throw error;
}

function exitCodeOf({ status }: Receipt): ExitCode {
  switch (status) {
    case 'registered':
      return EXIT.done;
    case 'rejected':
    case 'cancelled':
      return EXIT.notRegistered;
    case 'unknown':
      return EXIT.unknown;
    case 'accepted':
    case 'sending':
    case 'awaiting_payment':
      return EXIT.onItsWay;
  }
}

function waitOf({ wait, key }: KeyAndWait): number {
  if (key === '') throw new CommandError('--key is empty.');
  return wholeNumber(wait, '--wait', { min: 0, max: LONGEST_WAIT_S });
}

function collect(one: string, before: string[]): string[] {
  return [...before, one];
}
