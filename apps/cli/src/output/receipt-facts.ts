import type { Receipt } from '#sdk';
import type { Colour, Colours } from './colours.js';
import { somOf, type Column } from './table.js';

type Fact = readonly [string, string | number | null | undefined];

const COLOUR_OF: Readonly<Record<Receipt['status'], Colour>> = {
  registered: 'green',
  rejected: 'red',
  unknown: 'red',
  cancelled: 'dim',
  accepted: 'yellow',
  sending: 'yellow',
  awaiting_payment: 'yellow',
};

const ADVICE: Partial<Readonly<Record<Receipt['status'], string>>> = {
  unknown: 'It cannot be proven whether the document exists. A person decides; do not sell it again.',
  accepted: 'Stored and on its way; nothing has to be done.',
  sending: 'Stored and on its way; nothing has to be done.',
};

/** What people want to know of a receipt, in this order. */
export function receiptFacts(receipt: Receipt, colours: Colours): Fact[] {
  const { id, status, type, external_id: number, total, vat_total: vat, fiscal, rejection, ofd, refunded } = receipt;
  const tail: Fact[] =
    fiscal === null
      ? []
      : [
          ['terminal', fiscal.terminal_id],
          ['receipt no.', fiscal.receipt_seq],
          ['fiscal sign', fiscal.fiscal_sign],
          ['check it', fiscal.verification_url],
        ];
  return [
    ['receipt', id],
    ['status', colours.areOn ? colours.paint(COLOUR_OF[status], status) : status],
    ['type', type],
    ['your number', number],
    ['total', somOf(total)],
    ['VAT', somOf(vat)],
    ...tail,
    ['OFD', ofd?.status],
    ['refunded', refunded !== undefined && refunded.total > 0 ? somOf(refunded.total) : null],
    ['refund of', receipt.refund_of],
    ['refused', rejection === null ? null : `${rejection.code} ${rejection.detail}`],
    ['created', receipt.created_at],
    ['show it', receipt.receipt_url],
    ['note', ADVICE[status]],
  ];
}

export const receiptColumns: readonly Column<Receipt>[] = [
  { title: 'RECEIPT', of: ({ id }) => id },
  { title: 'CREATED', of: ({ created_at: at }) => at.slice(0, 19) },
  { title: 'TYPE', of: ({ type }) => type },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'TOTAL', of: ({ total }) => somOf(total), isNumber: true },
  { title: 'NUMBER', of: ({ external_id: number }) => number },
  { title: 'SIGN', of: ({ fiscal }) => fiscal?.fiscal_sign },
];
