/**
 * Values that force an outcome in a sandbox (docs/sandbox.md): the text of `metadata.sandbox`, or the price of a sale's first line.
 * A live merchant's receipts may say the same, and nothing comes of it.
 */
import type { LocalErrorCode } from './local-api.js';

export type SandboxOutcome =
  /** The register refuses the document: the receipt is rejected. */
  | { kind: 'rejected'; code: LocalErrorCode }
  /** The register refuses because of itself for a while; the receipt waits. */
  | { kind: 'refused'; code: LocalErrorCode }
  /** It cannot be reached for so long. */
  | { kind: 'offline'; seconds: number }
  /** It registers, and its answer is lost: the lane finds the registration by its key. */
  | { kind: 'answer_lost' }
  /** Nothing proves what it did. */
  | { kind: 'unknown' }
  /** The OFD does not take the document for so long. */
  | { kind: 'ofd_backlog'; seconds: number }
  /** It answers after so long. */
  | { kind: 'slow'; seconds: number }
  /** The payment provider declines. */
  | { kind: 'payment_declined' }
  /** It holds the money, and the hold has ended before the receipt is sent. */
  | { kind: 'hold_expired' };

const REJECTED = ['03', '04', '05', '06', '07', '08', '09', '10', '11', '12', '13', '14', '15', '17', '18'];
const REFUSED = ['01', '02', '16'];
const OFFLINE = { least: 1, most: 600 };
const BACKLOG = { least: 1, most: 3_600, unless: 60 };
/** Shorter than the time that a relay gives a register for a sale. */
const SLOW = { least: 1, most: 30 };

/** Values that say nothing more. */
const PLAIN = ['answer_lost', 'unknown', 'payment_declined', 'hold_expired'] as const;

/** @returns null: no such value */
export function readSandboxOutcome(text: string): SandboxOutcome | null {
  const plain = PLAIN.find((kind) => kind === text);
  if (plain !== undefined) return { kind: plain };
  const [, name, rest] = /^(rejected|refused|offline|ofd_backlog|slow)(?:_([A-Z0-9-]{1,8}))?$/.exec(text) ?? [];
  switch (name) {
    case 'rejected':
    case 'refused': {
      const number = /^E-0(\d\d)$/.exec(rest ?? '')?.[1];
      const isKnown = number !== undefined && (name === 'rejected' ? REJECTED : REFUSED).includes(number);
      return isKnown ? { kind: name, code: `E-0${number}` as LocalErrorCode } : null;
    }
    case 'offline':
      return lasting(name, rest, OFFLINE);
    case 'ofd_backlog':
      return lasting(name, rest ?? String(BACKLOG.unless), BACKLOG);
    case 'slow':
      return lasting(name, rest, SLOW);
    default:
      return null;
  }
}

/** A price of 1 000 so'm and so many tiyin. */
const PRICE_BASE_TIYIN = 100_000;

/** What each of these prices says, in tiyin: documented in one table, compared by a test. */
export const SANDBOX_PRICES: ReadonlyMap<number, string> = new Map([
  ...REFUSED.map((number) => [PRICE_BASE_TIYIN + Number(number), `refused_E-0${number}`] as const),
  ...REJECTED.map((number) => [PRICE_BASE_TIYIN + Number(number), `rejected_E-0${number}`] as const),
  [PRICE_BASE_TIYIN + 41, 'offline_10'],
  [PRICE_BASE_TIYIN + 42, 'offline_60'],
  [PRICE_BASE_TIYIN + 51, 'answer_lost'],
  [PRICE_BASE_TIYIN + 52, 'unknown'],
  [PRICE_BASE_TIYIN + 53, 'ofd_backlog_60'],
  [PRICE_BASE_TIYIN + 54, 'slow_5'],
  [PRICE_BASE_TIYIN + 61, 'payment_declined'],
  [PRICE_BASE_TIYIN + 62, 'hold_expired'],
]);

/** @param metadata of the receipt, which comes before its price @param priceTiyin of a sale's first line; null: of no sale */
export function sandboxOutcomeOf(metadata: string | null, priceTiyin: number | null): SandboxOutcome | null {
  if (metadata !== null) return readSandboxOutcome(metadata);
  const said = priceTiyin === null ? undefined : SANDBOX_PRICES.get(priceTiyin);
  return said === undefined ? null : readSandboxOutcome(said);
}

function lasting(
  kind: 'offline' | 'ofd_backlog' | 'slow',
  text: string | undefined,
  { least, most }: { least: number; most: number },
): SandboxOutcome | null {
  if (text === undefined || !/^\d{1,4}$/.test(text)) return null;
  const seconds = Number(text);
  return seconds >= least && seconds <= most ? { kind, seconds } : null;
}
