import { markup, type Markup } from '#paper';
import type { Answer } from '../answer.js';
import { duration } from '../format.js';
import { card, facts, form, noticeLine } from '../layout.js';
import type { Notice } from '../notice.js';
import type { Screen } from '../screen.js';
import { isLocalVisitor, type Visit } from '../visit.js';
import type { WordKey } from '../words.js';

export interface Entrance {
  readonly notice: Notice | null;
  readonly status: number;
}

/** What a visitor without a session sees: activation, the first PIN, or the login. */
export function entrancePage(
  screen: Screen,
  visit: Visit,
  { notice, status }: Entrance = { notice: null, status: 200 },
): Answer {
  const { say } = visit;
  const line = notice ? noticeLine(say, notice) : null;
  const waitMs = screen.pins.waitMs();
  const locked = waitMs > 0 ? lockedLine(visit, waitMs) : null;
  const isFirst = !screen.pins.isSet();
  const [title, content] = isFirst ? firstPin(screen, visit) : logIn(visit);
  const body = markup`${locked ?? line}${content}`;
  return { kind: 'page', title, body: card(title, body, 'entrance'), status };
}

export function errorPage({ say }: Visit, status: number, key: WordKey): Answer {
  const body = markup`<p>${say(key)}</p><p><a class="button" href="/">${say('to_start')}</a></p>`;
  return { kind: 'page', title: say('error'), body: card(say('error'), body, 'entrance'), status };
}

function lockedLine({ say }: Visit, waitMs: number): Markup {
  const seconds = Math.ceil(waitMs / 1000);
  const text = say('locked', { time: duration(say, waitMs) });
  return markup`<p class="notice bad" role="alert" data-reload-after="${seconds}">${text}</p>`;
}

function logIn(visit: Visit): [string, Markup] {
  const { say } = visit;
  const fields = pinField(say('pin'), 'pin', 'current-password');
  const body = markup`${form(visit, 'login', say('login'), fields)}<p class="hint">${say('forgot')}</p>`;
  return [say('login_title'), body];
}

function firstPin(screen: Screen, visit: Visit): [string, Markup] {
  const { say } = visit;
  const isActivated = screen.register.isActivated();
  const local = isLocalVisitor(visit);
  if (!local) screen.pins.prepareCode();
  const fields = markup`${local ? null : codeField(visit)}${newPinFields(visit)}`;
  if (isActivated) {
    const body = markup`<p>${say('set_pin_text')}</p>${form(visit, 'activate', say('save_pin'), fields)}`;
    return [say('set_pin_title'), body];
  }
  const body = markup`<p class="notice bad">${say('not_activated')}</p><p>${say('check_details')}</p>
${local ? ownDetails(screen, visit) : null}${form(visit, 'activate', say('activate'), fields)}`;
  return [say('activate_title'), body];
}

function ownDetails({ register }: Screen, { say }: Visit): Markup {
  const { REGISTER_BUSINESS_NAME: name, REGISTER_TIN: tin, REGISTER_BRANCH_ADDRESS: branch } = register.settings;
  return facts([
    [say('name'), name],
    [say('tin'), tin],
    [say('branch'), branch],
    [say('terminal'), register.module.info().terminalId],
  ]);
}

function codeField({ say }: Visit): Markup {
  return markup`<p class="hint">${say('code_where')}</p>
<label>${say('code')}<input type="text" name="code" required maxlength="32" autocapitalize="none" spellcheck="false"></label>`;
}

export function newPinFields({ say }: Visit): Markup {
  return markup`${pinField(say('pin_new'), 'pin', 'new-password')}${pinField(say('pin_again'), 'again', 'new-password')}`;
}

export function pinField(label: string, name: string, purpose: 'current-password' | 'new-password'): Markup {
  return markup`<label>${label}<input type="password" name="${name}" inputmode="numeric" pattern="[0-9]{6,12}" maxlength="12" required autocomplete="${purpose}"></label>`;
}
