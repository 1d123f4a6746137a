import { parseTashkentCompact } from './tashkent-time.js';

/** What a receipt's verification link says. */
export interface VerificationLink {
  terminalId: string;
  receiptSeq: number;
  /** `yyyymmddhhmmss`, Tashkent. */
  compactTime: string;
  fiscalSign: string;
}

/** `base?t=…&r=…&c=…&s=…`, e.g. base `https://ofd.soliq.uz/check`. A base with its own query keeps it. */
export function buildVerificationLink(base: string, link: VerificationLink): string {
  const query = [
    ['t', link.terminalId],
    ['r', String(link.receiptSeq)],
    ['c', link.compactTime],
    ['s', link.fiscalSign],
  ];
  const text = query.map(([key, value]) => `${key}=${encodeURIComponent(value ?? '')}`).join('&');
  return `${base}${base.includes('?') ? '&' : '?'}${text}`;
}

/** null unless t, r, c and s are each there once and make sense; other parameters are ignored. */
export function parseVerificationLink(url: string): VerificationLink | null {
  const values = queryValues(url);
  if (values === null) return null;
  const [terminalId = '', seqText = '', compactTime = '', fiscalSign = ''] = ['t', 'r', 'c', 's'].map((key) => {
    const found = values.filter(([name]) => name === key);
    return found.length === 1 ? found[0]?.[1] : undefined;
  });
  if (terminalId === '' || fiscalSign === '' || !/^[1-9]\d{0,15}$/.test(seqText)) return null;
  const receiptSeq = Number(seqText);
  if (!Number.isSafeInteger(receiptSeq) || parseTashkentCompact(compactTime) === null) return null;
  return { terminalId, receiptSeq, compactTime, fiscalSign };
}

/** The domain imports nothing, so no URL class: name/value pairs of the query; null when an escape is broken. */
function queryValues(url: string): [string, string][] | null {
  const [beforeHash = ''] = url.split('#', 1);
  const start = beforeHash.indexOf('?');
  if (start < 0) return null;
  const pairs: [string, string][] = [];
  for (const part of beforeHash.slice(start + 1).split('&')) {
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    const value = decode(equals < 0 ? '' : part.slice(equals + 1));
    if (name === null || value === null) return null;
    pairs.push([name, value]);
  }
  return pairs;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}
