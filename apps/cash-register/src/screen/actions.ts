import { refusedByModule } from '#fiscal-module';
import { closeShift } from '../shifts/close-shift.js';
import type { Action, Answer } from './answer.js';
import { duration } from './format.js';
import { bad, good, refusalNotice, type Notice } from './notice.js';
import { entrancePage } from './pages/entrance-pages.js';
import { isGoodPin, type PinCheck } from './pin-gate.js';
import type { Screen } from './screen.js';
import { dropCookie, isLocalVisitor, setCookie, type Visit } from './visit.js';

/** What a visitor may do who is not logged in. */
export const OPEN_ACTIONS: ReadonlyMap<string, Action> = new Map([
  ['/screen/activate', activate],
  ['/screen/login', login],
]);

export const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['/screen/logout', logout],
  ['/screen/pin', changePin],
  ['/screen/shift/open', openShift],
  ['/screen/shift/close', closeTheShift],
  ['/screen/send-unsent', sendUnsent],
  ['/screen/token/renew', renewToken],
]);

/** Activates the register if it is not, and gives it its first PIN. */
async function activate(screen: Screen, visit: Visit, form: URLSearchParams): Promise<Answer> {
  const { pins, register } = screen;
  if (pins.isSet()) return { kind: 'go', to: '/' };
  const fault = newPinFault(form);
  if (fault) return entrancePage(screen, visit, { notice: fault, status: 422 });
  if (!isLocalVisitor(visit)) {
    const check = await pins.checkCode(form.get('code') ?? '');
    if (check.kind !== 'right') return refuseEntrance(screen, visit, check, bad('code_wrong'));
  }
  const wasActivated = register.isActivated();
  // Crash between the two: the register is activated and asks for its first PIN, as one that came activated does.
  register.meta.getOrMake('activated_at', () => register.clock.now().toISOString());
  if (!(await pins.setFirst(form.get('pin') ?? ''))) return { kind: 'go', to: '/' };
  register.logger.info(
    wasActivated ? 'the first PIN was set on the screen' : 'the register was activated on its screen',
  );
  return enter(screen, visit, good(wasActivated ? 'pin_saved' : 'activated_now'));
}

async function login(screen: Screen, visit: Visit, form: URLSearchParams): Promise<Answer> {
  if (!screen.pins.isSet()) return { kind: 'go', to: '/' };
  const check = await screen.pins.check(form.get('pin') ?? '');
  if (check.kind === 'right') return enter(screen, visit, null);
  return refuseEntrance(screen, visit, check, bad('pin_wrong'));
}

function refuseEntrance(screen: Screen, visit: Visit, check: PinCheck, wrong: Notice): Answer {
  screen.register.logger.warn({ peer: visit.request.ip, outcome: check.kind }, 'an attempt to enter the screen failed');
  if (check.kind === 'wrong') return entrancePage(screen, visit, { notice: wrong, status: 401 });
  const waitMs = screen.pins.waitMs();
  visit.reply.header('retry-after', String(Math.ceil(waitMs / 1000)));
  return entrancePage(screen, visit, { notice: null, status: 429 });
}

/** A new session with a new token: what the browser held before is worth nothing. */
function enter(screen: Screen, { reply, sessionToken }: Visit, notice: Notice | null): Answer {
  if (sessionToken !== null) screen.sessions.close(sessionToken);
  setCookie(reply, screen.sessionCookie, screen.sessions.open(notice));
  dropCookie(reply, screen.visitorCookie);
  return { kind: 'go', to: '/' };
}

function logout(screen: Screen, { reply, sessionToken }: Visit): Answer {
  if (sessionToken !== null) screen.sessions.close(sessionToken);
  dropCookie(reply, screen.sessionCookie);
  return { kind: 'go', to: '/' };
}

/** Ends all other sessions: they were opened with the old PIN. */
async function changePin(screen: Screen, visit: Visit, form: URLSearchParams): Promise<Answer> {
  const fault = newPinFault(form);
  if (fault) return back(visit, '/screen/profile', fault);
  const check = await screen.pins.check(form.get('current') ?? '');
  if (check.kind === 'locked') {
    return back(visit, '/screen/profile', bad('locked', { time: duration(visit.say, check.waitMs) }));
  }
  if (check.kind === 'wrong') return back(visit, '/screen/profile', bad('pin_wrong'));
  await screen.pins.replace(form.get('pin') ?? '');
  screen.sessions.closeAll();
  screen.register.logger.info('the PIN was changed on the screen');
  return enter(screen, visit, good('pin_changed'));
}

async function openShift({ register }: Screen, visit: Visit): Promise<Answer> {
  const barred = register.barred();
  if (barred) return back(visit, '/', refusalNotice(barred));
  const outcome = await register.module.openShift();
  if (outcome.kind === 'refused') return back(visit, '/', refusalNotice(refusedByModule(outcome)));
  return back(visit, '/', good('shift_opened'));
}

async function closeTheShift({ register }: Screen, visit: Visit): Promise<Answer> {
  const outcome = register.barred() ?? (await closeShift(register.module, register.zReportCourier));
  if (outcome.kind === 'refused') return back(visit, '/', refusalNotice(outcome));
  return back(visit, '/', outcome.response.ofdSent ? good('shift_closed') : bad('shift_closed_unsent'));
}

async function sendUnsent({ register }: Screen, visit: Visit): Promise<Answer> {
  const receipts = await register.courier.resend();
  const zReports = await register.zReportCourier.resend();
  const values = {
    sent: String(receipts.sent + zReports.sent),
    failed: String(receipts.errors.length + zReports.errors.length),
  };
  return back(visit, '/', values.failed === '0' ? good('sent_all', values) : bad('sent_some', values));
}

function renewToken({ register }: Screen, visit: Visit, form: URLSearchParams): Answer {
  if (form.get('confirm') !== 'yes') return back(visit, '/screen/local-server', bad('token_unconfirmed'));
  register.accessToken.renew();
  register.logger.warn('the access token of the local API was renewed on the screen');
  return back(visit, '/screen/local-server', good('token_renewed'));
}

/** To a page that shows the outcome: reloading it repeats nothing. */
function back({ session }: Visit, to: string, notice: Notice): Answer {
  if (session) session.notice = notice;
  return { kind: 'go', to };
}

function newPinFault(form: URLSearchParams): Notice | null {
  const pin = form.get('pin') ?? '';
  if (!isGoodPin(pin)) return bad('pin_weak');
  return pin === form.get('again') ? null : bad('pin_differs');
}
