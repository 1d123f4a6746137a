import { textAt } from '../exchange.js';
import type { ProviderReport } from '../port.js';

/** Of a report as it is posted: larger ones are cut by the caller's limit. */
const MAX_LINES = 2_000;
const OUR_MESSAGE_ID = /<(msg_[0-7][0-9a-hjkmnp-tv-z]{25})@[A-Za-z0-9.-]{1,253}>/;

/**
 * A delivery status notification (RFC 3464), or a complaint in the abuse reporting format (RFC 5965), as the merchant's mail server
 * hands it on: `{"message": "<the whole message>"}`. What it concerns is our Message-ID in the returned headers.
 */
export function smtpReports(body: unknown): readonly ProviderReport[] | null {
  const message = textAt(body, 'message');
  if (message === null) return null;
  const lines = message.split(/\r?\n/, MAX_LINES);
  const messageId = lines.map((line) => OUR_MESSAGE_ID.exec(line)?.[1]).find((id) => id !== undefined) ?? null;
  if (messageId === null) return [];
  const feedback = valueOf(lines, 'feedback-type');
  if (feedback !== null) return [reportOf(messageId, 'failed', `complaint: ${feedback}`, true)];
  const [action, status] = [valueOf(lines, 'action')?.toLowerCase(), valueOf(lines, 'status') ?? ''];
  if (action === 'delivered' || action === 'relayed') return [reportOf(messageId, 'delivered', action, false)];
  if (action !== 'failed') return [];
  // Class 5 is for good; of it the address itself is 5.1.x and 5.2.1 (RFC 3463).
  const isAddressRefused = /^5\.(1\.\d+|2\.1)\b/.test(status);
  return [reportOf(messageId, 'failed', `bounce ${status}`.trim(), isAddressRefused)];
}

function valueOf(lines: readonly string[], name: string): string | null {
  const line = lines.find((one) => one.toLowerCase().startsWith(`${name}:`));
  return line === undefined
    ? null
    : line
        .slice(name.length + 1)
        .trim()
        .slice(0, 100);
}

function reportOf(
  messageId: string,
  state: 'delivered' | 'failed',
  word: string,
  isAddressRefused: boolean,
): ProviderReport {
  const nothing = { providerRef: null, parts: null, costTiyin: null };
  return { messageId, providerRef: null, status: { kind: 'status', state, ...nothing, word, isAddressRefused } };
}
