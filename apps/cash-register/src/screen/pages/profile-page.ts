import { Readable } from 'node:stream';
import { markup, type Markup } from '#paper';
import { exportJournal } from '../../journal/export-journal.js';
import { readStoredDocument } from '../../journal/stored-payload.js';
import { APP_VERSION } from '../../local-api/routes.js';
import type { Page } from '../answer.js';
import { moment } from '../format.js';
import { card, facts, form } from '../layout.js';
import type { Screen } from '../screen.js';
import type { Visit } from '../visit.js';
import { errorPage, newPinFields, pinField } from './entrance-pages.js';

export const profilePage: Page = (screen, visit) => {
  const { say } = visit;
  const body = markup`<div class="two">${business(screen, visit)}${register(screen, visit)}${data(screen, visit)}${security(visit)}</div>`;
  return { kind: 'page', title: say('profile'), body };
};

/** The journal as it is now; what is sold meanwhile is not in it. */
export const journalFile: Page = ({ register: { journal, module } }) => ({
  kind: 'file',
  name: `journal-${module.info().terminalId}.jsonl`,
  mediaType: 'application/jsonl; charset=utf-8',
  content: Readable.from(exportJournal(journal)),
});

/** The printed receipt, for showing and printing. */
export const receiptPage: Page = ({ register }, visit) => {
  const seq = /(?<!\d)(\d+)\/?(?:\?|$)/.exec(visit.request.url)?.[1];
  const entry = register.journal.findBySeq(Number(seq));
  if (!entry) return errorPage(visit, 404, 'not_found');
  if (!readStoredDocument(entry)) return errorPage(visit, 503, 'receipt_damaged');
  const html = register.receipts.journalResponse(entry).receiptHtml ?? '';
  // The receipt has one style of its own, in its head; every value in it is escaped.
  return { kind: 'document', html: html.replace('<style>', `<style nonce="${visit.nonce}">`) };
};

function business({ register: { settings } }: Screen, { say }: Visit): Markup {
  return card(
    say('business'),
    facts([
      [say('name'), settings.REGISTER_BUSINESS_NAME],
      [say('tin'), settings.REGISTER_TIN],
      [say('phone'), settings.REGISTER_PHONE],
      [say('branch'), settings.REGISTER_BRANCH_ADDRESS],
    ]),
  );
}

function register(screen: Screen, visit: Visit): Markup {
  const { say } = visit;
  const { state, expiresAt } = screen.register.subscription();
  const rows = facts([
    [say('terminal'), screen.register.module.info().terminalId],
    [say('version'), APP_VERSION],
    [say('subscription'), say(`subscription_${state}`, { date: moment(expiresAt.getTime()).slice(0, 10) })],
  ]);
  return card(
    say('register'),
    markup`${rows}<p><a class="button" href="/screen/local-server">${say('local_server')}</a></p>`,
  );
}

function data({ register: { folder, journalId } }: Screen, { say }: Visit): Markup {
  const rows = facts([
    [say('data_folder'), markup`<code>${folder}</code>`],
    [say('journal_id'), journalId],
  ]);
  const body = markup`<p class="notice bad">${say('data_warning')}</p>${rows}
<p><a class="button quiet" href="/screen/journal.jsonl" download>${say('export')}</a></p><p class="hint">${say('export_text')}</p>`;
  return card(say('data'), body, 'danger');
}

function security(visit: Visit): Markup {
  const { say } = visit;
  const fields = markup`${pinField(say('pin_current'), 'current', 'current-password')}${newPinFields(visit)}`;
  const logout = markup`<div class="quiet row">${form(visit, 'logout', say('logout'))}</div>`;
  const change = markup`<details><summary class="button quiet">${say('pin_change')}</summary>${form(visit, 'pin', say('pin_change'), fields)}</details>`;
  return card(say('security'), markup`${change}${logout}`);
}
