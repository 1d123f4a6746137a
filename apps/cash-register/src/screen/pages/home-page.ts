import { createHash } from 'node:crypto';
import { OFD_FUSE_MS } from '#fiscal-domain';
import { markup, type Markup } from '#paper';
import type { Answer, Page } from '../answer.js';
import { moment } from '../format.js';
import type { Screen } from '../screen.js';
import type { Visit } from '../visit.js';
import { receiptList } from './receipt-list.js';
import { shiftCard } from './shift-card.js';
import { memoryCard, unsentCard } from './unsent-card.js';

export const homePage: Page = async (screen, visit) => {
  const { say } = visit;
  const data = markup`<p class="hint no-print">${say('data_warning')} <a href="/screen/profile">${say('export')}</a></p>`;
  const body = markup`<div id="live">${await live(screen, visit)}</div>${data}`;
  return { kind: 'page', title: say('till'), body };
};

/** What changes by itself, for the page's script: nothing as long as it is unchanged. */
export const livePart: Page = async (screen, visit): Promise<Answer> => {
  const body = await live(screen, visit);
  const { seen } = visit.request.query as { seen?: unknown };
  if (body.text.includes(`data-version="${String(seen)}"`)) return { kind: 'status', status: 204 };
  return { kind: 'part', body };
};

async function live(screen: Screen, visit: Visit): Promise<Markup> {
  const parts = markup`${alarms(screen, visit)}${shiftCard(screen, visit)}
<div class="stack">${unsentCard(screen, visit)}${memoryCard(screen, visit)}</div>${await receiptList(screen, visit)}`;
  const version = createHash('sha256').update(parts.text).digest('base64url');
  return markup`<span hidden data-version="${version}"></span>${parts}`;
}

/** Red lines say why the register does not sell, and only that (docs/cashier.md); what is still to come is no red one. */
function alarms({ register }: Screen, { say }: Visit): Markup {
  const { module, clock } = register;
  const { state, expiresAt } = register.subscription();
  const { unsentReceipts, receiptCapacity } = module.info();
  const oldestMs = module.oldestUnsentMs();
  const lines = [
    module.fault() ? say('reason_chain_broken') : null,
    register.isActivated() ? null : say('not_activated'),
    state === 'expired' ? say('expired_barred') : null,
    unsentReceipts >= receiptCapacity ? say('reason_memory_full') : null,
    oldestMs !== null && clock.now().getTime() - oldestMs >= OFD_FUSE_MS ? say('reason_unsent_too_old') : null,
  ].filter((line) => line !== null);
  const ends = `${say('subscription')}: ${say('subscription_expiring', { date: moment(expiresAt.getTime()) })}`;
  const warning = state === 'expiring' ? markup`<p class="notice warn wide" role="status">${ends}</p>` : null;
  return markup`${lines.map((line) => markup`<p class="notice bad wide" role="alert">${line}</p>`)}${warning}`;
}
