import { readFileSync } from 'node:fs';
import type { ClassifierEntry } from '#fiscal-domain';

/** A valid body of the register's POST /receipts. */
export function localSale(): string {
  const [line = ''] = readFileSync('data/classifier-sample.jsonl', 'utf8').split('\n');
  const entry = JSON.parse(line) as ClassifierEntry;
  const item = {
    name: entry.name.ru,
    spic: entry.spic,
    units: entry.units,
    price: 112_000,
    amount: 1_000,
    vatPercent: 12,
    vat: 12_000,
    packageCode: entry.packages[0]?.code ?? '',
  };
  return JSON.stringify({ type: 'sale', items: [item], received: { cash: 112_000, card: 0 } });
}
