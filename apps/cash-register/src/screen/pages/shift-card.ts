import { markup, type Markup } from '#paper';
import type { Shift } from '#fiscal-module';
import { moment, plainMoney } from '../format.js';
import { asked, card, facts, form } from '../layout.js';
import type { Screen } from '../screen.js';
import type { Visit } from '../visit.js';
import type { Say } from '../words.js';

/** The shift with its running totals, and the button that opens or closes it. */
export function shiftCard({ register }: Screen, visit: Visit): Markup {
  const { say } = visit;
  const shift = register.module.currentShift();
  const isOpen = shift?.closedMs === null;
  const open = form(visit, 'shift/open', say('shift_open'));
  const close = form(visit, 'shift/close', say('shift_close'));
  const button = isOpen ? asked(say('shift_close'), say('shift_close_ask'), close) : open;
  if (!shift) return card(say('shift'), markup`<p>${say('shift_none')}</p>${button}`);
  const tag = isOpen
    ? markup`<span class="tag good">${say('open')}</span>`
    : markup`<span class="tag">${say('closed')}</span>`;
  const times = facts([
    [say('opened_at'), moment(shift.openedMs)],
    ...(shift.closedMs === null ? [] : [[say('closed_at'), moment(shift.closedMs)] as const]),
    [say('documents'), String(shift.documents)],
  ]);
  const title = say('shift_number', { number: String(shift.number) });
  return markup`<section class="card" id="shift"><h2>${title} ${tag}</h2>${times}${totals(shift, say)}${button}</section>`;
}

function totals({ saleCount, sale, refundCount, refund }: Shift, say: Say): Markup {
  const rows = [
    [say('cash'), sale.cash, refund.cash],
    [say('card'), sale.card, refund.card],
    [say('vat'), sale.vat, refund.vat],
  ] as const;
  const row = ([name, sold, refunded]: (typeof rows)[number]): Markup =>
    markup`<tr><td>${name}</td><td>${plainMoney(say, sold)}</td><td>${plainMoney(say, refunded)}</td></tr>`;
  const sums = [sale.cash + sale.card, refund.cash + refund.card] as const;
  return markup`<table><thead><tr><th>${say('currency')}</th><th>${say('sales')}</th><th>${say('refunds')}</th></tr></thead><tbody>
<tr><td>${say('count')}</td><td>${saleCount}</td><td>${refundCount}</td></tr>${rows.map(row)}
<tr class="sum"><td>${say('total')}</td><td>${plainMoney(say, sums[0])}</td><td>${plainMoney(say, sums[1])}</td></tr></tbody></table>`;
}
