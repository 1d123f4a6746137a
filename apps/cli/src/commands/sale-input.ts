import type { Readable } from 'node:stream';
import type { RefundBody, SaleBody } from '#sdk';
import { CommandError } from '../errors.js';
import { readJsonInput, wholeNumber } from '../read-input.js';

export interface SaleInput {
  file?: string;
  item?: string;
  price?: string;
  qty: string;
  method: string;
  cashier?: string;
  externalId?: string;
}

export interface RefundOptions {
  line: string[];
  file?: string;
  externalId?: string;
}

const LARGEST_SUM = 999_999_999_999_999;

/** A file, or one line of goods from options. What the gateway checks is not checked here. @throws CommandError */
export async function readSale(options: SaleInput, stdin: Readable): Promise<SaleBody> {
  const { file, item, cashier, externalId } = options;
  if ((file === undefined) === (item === undefined))
    throw new CommandError('Give the sale as --file, or as --item, --price and --cashier.');
  const sale = file === undefined ? oneLine(options) : await readJsonInput(file, stdin);
  return {
    ...sale,
    ...(cashier !== undefined && { cashier_id: cashier }),
    ...(externalId !== undefined && { external_id: externalId }),
  } as SaleBody;
}

function oneLine({ item, price, qty, method, cashier }: SaleInput): object {
  if (price === undefined || cashier === undefined) throw new CommandError('--item needs --price and --cashier.');
  const line = { name: item, price: wholeNumber(price, '--price', { min: 0, max: LARGEST_SUM }), qty };
  return { items: [line], payment: { method } };
}

/** @throws CommandError */
export async function readRefund({ line, file, externalId }: RefundOptions, stdin: Readable): Promise<RefundBody> {
  if (file !== undefined && line.length > 0) throw new CommandError('Give --file or --line, not both.');
  const refund = file === undefined ? {} : await readJsonInput(file, stdin);
  return {
    ...refund,
    ...(line.length > 0 && { lines: line.map(refundLine) }),
    ...(externalId !== undefined && { external_id: externalId }),
  };
}

function refundLine(text: string): { line: number; qty: string } {
  const [, line, qty] = /^(\d{1,3}):(\d{1,12}(?:\.\d{1,3})?)$/.exec(text) ?? [];
  if (line === undefined || qty === undefined) throw new CommandError(`--line ${text} is not LINE:QTY, such as 1:2.`);
  return { line: Number(line), qty };
}
