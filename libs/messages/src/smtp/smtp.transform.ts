import { briefly } from '../exchange.js';
import type { SendOutcome } from '../port.js';

/** What an error of the mail library says beside its message. */
interface SmtpError {
  code?: unknown;
  command?: unknown;
  responseCode?: unknown;
  response?: unknown;
}

/** Errors of the way to the server, and of its certificate: nothing of the letter has left. */
const BEFORE_ANYTHING: ReadonlySet<string> = new Set([
  ...['EDNS', 'ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'ETLS', 'EPROXY'],
  ...['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
]);
/**
 * Once the letter itself is on its way, a lost answer says nothing; the library says `CONN` of a connection that was cut at any moment.
 */
const PERHAPS_AFTER_THE_LETTER: ReadonlySet<string> = new Set(['', 'CONN', 'DATA', 'BDAT', 'DOT']);
/** Commands that concern the account and no single letter. */
const OF_THE_ACCOUNT = /^(AUTH|MAIL)/;
const OF_THE_LETTER = /^(RCPT|DATA|BDAT|DOT)/;

/**
 * What a failed try of a letter came to. 5xx at RCPT TO with a status of class 5.1 (bad address) or 5.2.1 (mailbox disabled) is the
 * address; 5xx at AUTH or MAIL FROM is the account; any other 5xx is this letter; 4xx is the moment (RFC 5321, RFC 3463).
 */
export function smtpFailure(error: unknown): SendOutcome {
  const { code, command, responseCode, response } = (
    typeof error === 'object' && error !== null ? error : {}
  ) as SmtpError;
  const message = error instanceof Error ? error.message : String(error);
  const detail = briefly(typeof response === 'string' ? response : message);
  const name = typeof code === 'string' ? code : 'ERROR';
  const at = typeof command === 'string' ? command.toUpperCase() : '';
  if (typeof responseCode === 'number') return byReply(responseCode, at, detail);
  if (name === 'EAUTH') return { kind: 'account_refused', code: name, detail };
  if (name === 'EENVELOPE' || name === 'EMESSAGE') return { kind: 'refused', code: name, detail };
  // However the library calls it: a certificate is judged before anything is sent.
  const isOfCertificate = /certificate|self[- ]signed|altnames/i.test(message);
  if (isOfCertificate || BEFORE_ANYTHING.has(name) || !PERHAPS_AFTER_THE_LETTER.has(at)) {
    return { kind: 'not_now', code: name, detail, retryAfterMs: null };
  }
  return { kind: 'unclear', detail: `${name}: ${detail}` };
}

function byReply(reply: number, command: string, detail: string): SendOutcome {
  const status = /\b([245]\.\d{1,3}\.\d{1,3})\b/.exec(detail)?.[1] ?? '';
  const code = status === '' ? String(reply) : `${String(reply)} ${status}`;
  if (reply < 400) return { kind: 'unclear', detail: `${code}: ${detail}` };
  if (reply < 500) return { kind: 'not_now', code, detail, retryAfterMs: null };
  if (OF_THE_ACCOUNT.test(command) || reply === 530 || reply === 535) return { kind: 'account_refused', code, detail };
  const isMailbox = status === '' ? reply === 550 || reply === 551 || reply === 553 : /^5\.(1\.\d+|2\.1)$/.test(status);
  // A greeting, EHLO or STARTTLS: the server as it is at this moment.
  if (!OF_THE_LETTER.test(command)) return { kind: 'not_now', code, detail, retryAfterMs: null };
  if (command.startsWith('RCPT') && isMailbox) return { kind: 'address_refused', code, detail };
  return { kind: 'refused', code, detail };
}
