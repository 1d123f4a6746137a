import { OFD_ALARM_MS, OFD_FUSE_MS, OFD_WARNING_MS, parseTashkentCompact } from '#fiscal-domain';
import { markup, trusted, type Markup } from '#paper';
import type { FiscalModule, OfdZReport } from '#fiscal-module';
import { readPayload } from '../../journal/stored-payload.js';
import { age } from '../format.js';
import { card, facts, form } from '../layout.js';
import type { Screen } from '../screen.js';
import type { Visit } from '../visit.js';
import type { Say } from '../words.js';

/** Parts of a memory from which on it is shown as tight. */
const TIGHT = 0.7;
const NEARLY_FULL = 0.9;

/** What the OFD has not got yet, and how long the oldest of it has been waiting. */
export function unsentCard({ register: { module, clock } }: Screen, visit: Visit): Markup {
  const { say } = visit;
  const zReports = module.unsentZReports();
  const nowMs = clock.now().getTime();
  const oldestMs = module.oldestUnsentMs();
  const oldestZMs = oldestZReportMs(module, zReports);
  const waiting = (sinceMs: number | null): Markup | null =>
    sinceMs === null
      ? null
      : markup`<br><span class="hint">${say('unsent_oldest')}: ${age(say, nowMs - sinceMs)}</span>`;
  const receipts = module.info().unsentReceipts;
  const counts = facts([
    [say('unsent_receipts'), markup`<b>${receipts}</b>${waiting(oldestMs)}`],
    [say('unsent_z'), markup`<b>${zReports.length}</b>${waiting(oldestZMs)}`],
  ]);
  const end =
    receipts + zReports.length === 0
      ? markup`<p><span class="tag good">${say('all_sent')}</span></p>`
      : form(visit, 'send-unsent', say('send_now'));
  const body = markup`${counts}${oldestMs === null ? null : fuse(say, nowMs - oldestMs)}${end}`;
  return card(say('unsent'), body, 'unsent');
}

/** The fiscal module's memory: unsent documents now, shifts for its life. */
export function memoryCard({ register: { module } }: Screen, { say }: Visit): Markup {
  const { terminalId, receiptSeq, unsentReceipts, receiptCapacity, shiftsUsed, shiftCapacity } = module.info();
  const measure = (name: string, used: number, all: number): Markup => {
    const part = used / all;
    const tone = part >= NEARLY_FULL ? 'bad' : part >= TIGHT ? 'warn' : '';
    return gauge({ name, text: say('of', { used: String(used), all: String(all) }), part, tone });
  };
  const body = markup`${measure(say('memory_receipts'), unsentReceipts, receiptCapacity)}
${measure(say('memory_shifts'), shiftsUsed, shiftCapacity)}${facts([
    [say('terminal'), terminalId],
    [say('last_number'), String(receiptSeq)],
  ])}`;
  return card(say('memory'), body, 'memory');
}

/** The 48 hours after which the module refuses everything but sending. */
function fuse(say: Say, ageMs: number): Markup {
  const tone = ageMs >= OFD_ALARM_MS ? 'bad' : ageMs >= OFD_WARNING_MS ? 'warn' : '';
  const left = OFD_FUSE_MS - ageMs;
  const text = left > 0 ? say('fuse_left', { time: age(say, left) }) : say('fuse_over');
  const bar = gauge({ name: text, text: '', part: ageMs / OFD_FUSE_MS, tone });
  return markup`${bar}<p class="${tone === '' ? 'hint' : `notice ${tone}`}">${say('unsent_fuse')}</p>`;
}

interface Gauge {
  readonly name: string;
  readonly text: string;
  /** 0…1; more is shown as full. */
  readonly part: number;
  readonly tone: '' | 'warn' | 'bad';
}

function gauge({ name, text, part, tone }: Gauge): Markup {
  const percent = Math.round(Math.min(1, Math.max(0, part)) * 1000) / 10;
  // Something is there: show at least a sliver of it.
  const width = part > 0 ? Math.max(1, percent) : 0;
  return markup`<div class="measure"><div><span>${name}</span><span>${text}</span></div>
<svg class="gauge ${tone}" viewBox="0 0 100 4" preserveAspectRatio="none" role="meter" aria-label="${name}"
aria-valuemin="0" aria-valuemax="100" aria-valuenow="${percent}">${trusted(`<rect width="${String(width)}" height="4"/>`)}</svg></div>`;
}

function oldestZReportMs(module: FiscalModule, [oldest]: readonly number[]): number | null {
  const report = oldest === undefined ? null : module.zReport(oldest);
  const { time }: Partial<OfdZReport> = readPayload(report?.payload ?? '{}') ?? {};
  return typeof time === 'string' ? parseTashkentCompact(time) : null;
}
