import { named } from '../../i18n/named.js';
import { REASONS, type Reasons } from '../../i18n/reasons.js';
import type { Language } from '../../i18n/plural.js';

/** A call of ours that was not answered: `GET /status: timeout`. */
const CALL = /^(?:GET|POST) (\/\S+): (.+)$/s;
/** A refusal of the register with its code: `E-001: the register is not activated`, `F-003: the memory is full, 858 documents are unsent`. */
const CODE = /^([A-Z]-\d{3}): (.+?)(?:, \d.*)?$/s;
/** A warning by its name: `memory: 800 of 858 places are taken by unsent documents`; the countdowns beside it have the numbers. */
const WARNING = /^([a-z_]+): /;
const PARKED = 'parked by an operator: ';

/** What the relay wrote about a register or an attempt, in words of the person who reads it. What is not known stays as it is in the log. */
export function reasonText(text: string, language: Language): string {
  const reasons = REASONS[language];
  // A person's own words, to their end.
  if (text.startsWith(PARKED)) return reasons.parked(text.slice(PARKED.length));
  const end = text.indexOf('; ');
  if (end < 0) return oneReason(text, reasons);
  return `${oneReason(text.slice(0, end), reasons)}; ${reasonText(text.slice(end + 2), language)}`;
}

function oneReason(text: string, reasons: Reasons): string {
  const [, call, why] = CALL.exec(text) ?? [];
  if (call !== undefined && why !== undefined) return reasons.noAnswer(call, named(reasons.known, why));
  const [, code, said = ''] = CODE.exec(text) ?? [];
  if (code !== undefined && Object.hasOwn(reasons.known, said)) return `${code}: ${named(reasons.known, said)}`;
  const [, warning = ''] = WARNING.exec(text) ?? [];
  return Object.hasOwn(reasons.warnings, warning) ? named(reasons.warnings, warning) : named(reasons.known, text);
}
