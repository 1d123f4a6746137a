import { setImmediate as breathe } from 'node:timers/promises';
import { buildVerificationLink } from '#fiscal-domain';
import { markup, qrSvg, RECEIPT_WORDS, trusted, type Markup } from '#paper';
import type { JournalEntry } from '../../journal/journal.js';
import { readStoredDocument } from '../../journal/stored-payload.js';
import type { OfdDocument } from '#fiscal-module';
import { moment, money } from '../format.js';
import { card, facts } from '../layout.js';
import type { Screen } from '../screen.js';
import type { Visit } from '../visit.js';

const SHOWN_RECEIPTS = 10;
const SHOWN_NAMES = 3;

/** The newest receipts, each with its QR code; sales go on between two of them. */
export async function receiptList(screen: Screen, visit: Visit): Promise<Markup> {
  const { say } = visit;
  const { journal, module } = screen.register;
  const entries = journal.newest(SHOWN_RECEIPTS);
  if (entries.length === 0) return card(say('receipts'), markup`<p>${say('no_receipts')}</p>`, 'wide');
  const unsent = new Set(module.unsentReceipts());
  const rows: Markup[] = [];
  for (const entry of entries) {
    rows.push(row({ screen, visit, entry, isSent: !unsent.has(entry.seq), isNewest: rows.length === 0 }));
    await breathe();
  }
  const shown = new Set(entries.map(({ seq }) => seq));
  for (const seq of screen.qrCodes.keys()) if (!shown.has(seq)) screen.qrCodes.delete(seq);
  return card(say('receipts'), markup`<ul class="receipts">${rows}</ul>`, 'wide');
}

interface Row {
  readonly screen: Screen;
  readonly visit: Visit;
  readonly entry: JournalEntry;
  readonly isSent: boolean;
  readonly isNewest: boolean;
}

function row({ screen, visit, entry, isSent, isNewest }: Row): Markup {
  const { say, language } = visit;
  const document = readStoredDocument(entry);
  if (!document) return damagedRow(visit, entry);
  const link = verificationLink(screen, entry, document);
  const words = RECEIPT_WORDS[language];
  const total = document.items.reduce((sum, { total: line }) => sum + line, 0);
  const state = isSent
    ? markup`<span class="tag good">${say('is_sent')}</span>`
    : markup`<span class="tag warn">${say('is_unsent')}</span>`;
  const details = facts([
    [say('sign'), entry.sign ?? say('no_sign')],
    [say('cash'), money(say, document.cash)],
    [say('card'), money(say, document.card)],
    [say('vat'), money(say, document.vat)],
  ]);
  const open = markup`<a href="/screen/receipts/${entry.seq}" target="_blank" rel="noopener">${say('receipt_open')}</a>`;
  const verify =
    link === null ? null : markup` · <a href="${link}" target="_blank" rel="noopener noreferrer">${say('verify')}</a>`;
  return markup`<li><details data-seq="${entry.seq}"${isNewest ? markup` open` : null}><summary>
<span><b>№ ${entry.seq}</b> ${words.types[document.type] ?? document.type}</span><span><b>${money(say, total)}</b></span>
<span class="what">${moment(entry.timeMs)} · ${names(visit, document)}</span><span>${state}</span></summary>
<div class="receipt-detail">${link === null ? null : trusted(qrCode(screen, entry.seq, link))}
<div>${details}<p>${open}${verify}</p></div></div></details></li>`;
}

/** The journal is damaged here, as the page's alarm says: what of it can be read is shown none the less. */
function damagedRow({ say }: Visit, { seq, timeMs }: JournalEntry): Markup {
  return markup`<li><details data-seq="${seq}"><summary><span><b>№ ${seq}</b></span><span class="what">${moment(timeMs)}</span>
<span><span class="tag bad">${say('receipt_damaged')}</span></span></summary></details></li>`;
}

function names({ say }: Visit, { items }: OfdDocument): string {
  const shown = items.slice(0, SHOWN_NAMES).map(({ name }) => name);
  const hidden = items.length - shown.length;
  return [...shown, ...(hidden > 0 ? [say('more_items', { count: String(hidden) })] : [])].join(', ');
}

function verificationLink({ register }: Screen, { seq, sign }: JournalEntry, document: OfdDocument): string | null {
  if (sign === null) return null;
  const { terminal_id: terminalId, time: compactTime } = document;
  const { VERIFICATION_URL: base } = register.settings;
  return buildVerificationLink(base, { terminalId, receiptSeq: seq, compactTime, fiscalSign: sign });
}

/** Drawn once per receipt, not once per page view. */
function qrCode({ qrCodes }: Screen, seq: number, link: string): string {
  const svg = qrCodes.get(seq) ?? qrSvg(link, 'QR');
  qrCodes.set(seq, svg);
  return svg;
}
