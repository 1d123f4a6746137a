import { readFileSync } from 'node:fs';
import type { ClassifierEntry } from '#fiscal-domain';

/** A valid body of the register's POST /receipts. */
export function localSale(): string {
  return JSON.stringify({ type: 'sale', items: [lineOf(0)], received: { cash: 112_000, card: 0 } });
}

export type LocalLine = ReturnType<typeof lineOf>;

/** Three of them, as `threeItemSale` has. */
export function localLines(): LocalLine[] {
  return [0, 1, 2].map(lineOf);
}

function lineOf(index: number) {
  const line = readFileSync('data/classifier-sample.jsonl', 'utf8').split('\n')[0] ?? '';
  const entry = JSON.parse(line) as ClassifierEntry;
  const [price, pieces] = [112_000 + index * 1_000, index + 1];
  return {
    ...{ name: entry.name.ru, spic: entry.spic, units: entry.units, price, amount: pieces * 1_000 },
    ...{ vatPercent: 12, vat: Math.round((price * 12) / 112), packageCode: entry.packages[0]?.code ?? '' },
  };
}
