import { setTimeout as delay } from 'node:timers/promises';
import { createTransport } from 'nodemailer';
import type { Reach } from '../exchange.js';
import type { MessageSender, OutgoingMessage, SendOutcome } from '../port.js';
import { smtpFailure } from './smtp.transform.js';

export interface SmtpOptions {
  host: string;
  port: number;
  /** `tls`: from the first byte. `starttls`: demanded, never left out. `none`: in clear, only to listed networks. */
  security: 'tls' | 'starttls' | 'none';
  username: string;
  password: string;
  fromAddress: string;
  fromName: string;
  replyTo: string;
  /** Null: the letters are not signed here. */
  dkim: { domain: string; selector: string; privateKey: string } | null;
  /** Certificate authority in PEM, when the server's is not a public one. */
  ca: string;
}

const GREETING_MS = 5_000;
const SILENCE_MS = 8_000;
/** For all of a letter once there is a connection: a server that goes on saying something is never silent. Well below the lease of an account. */
const DEADLINE_MS = 30_000;
const OVERDUE: SendOutcome = { kind: 'unclear', detail: 'the server has not ended within the deadline' };

/**
 * Letters over SMTP. One connection for each letter: what happens to it says which letter it concerns. The name in the
 * certificate is checked; without a good one nothing is sent, not even the password.
 */
export class SmtpClient implements MessageSender {
  constructor(
    private readonly options: SmtpOptions,
    private readonly reach: Reach,
    private readonly deadlineMs = DEADLINE_MS,
  ) {}

  async send(message: OutgoingMessage): Promise<SendOutcome> {
    const { email } = message;
    if (email === null) return { kind: 'refused', code: 'EMESSAGE', detail: 'the letter has no parts' };
    const { host, port, security, username, password, ca } = this.options;
    const isEncrypted = security !== 'none';
    let connection;
    try {
      connection = await this.reach.socket({ host, port, isEncrypted });
    } catch (error) {
      return { kind: 'not_now', code: 'unreachable', detail: reasonOf(error), retryAfterMs: null };
    }
    const transport = createTransport({
      ...{ host, port, connection, secure: security === 'tls', requireTLS: security === 'starttls' },
      ...{ ignoreTLS: security === 'none', name: domainOf(this.options.fromAddress) },
      tls: { servername: host, minVersion: 'TLSv1.2', rejectUnauthorized: true, ...(ca !== '' && { ca }) },
      ...(username !== '' && { auth: { user: username, pass: password } }),
      ...{ greetingTimeout: GREETING_MS, socketTimeout: SILENCE_MS, connectionTimeout: GREETING_MS },
      // Nothing of a letter is read from a disk or fetched from an address.
      ...{ disableFileAccess: true, disableUrlAccess: true },
      ...(this.options.dkim && { dkim: dkimOf(this.options.dkim) }),
    });
    const sending: Promise<SendOutcome> = transport.sendMail(this.letter(message, email)).then(
      () => ({ kind: 'sent', providerRef: email.messageId }),
      (error: unknown) => smtpFailure(error),
    );
    const ended = new AbortController();
    const overdue = delay(this.deadlineMs, OVERDUE, { signal: ended.signal }).catch(() => OVERDUE);
    try {
      return await Promise.race([sending, overdue]);
    } finally {
      ended.abort();
      transport.close();
      connection.destroy();
    }
  }

  private letter({ to, text }: OutgoingMessage, email: NonNullable<OutgoingMessage['email']>) {
    const { fromAddress, fromName, replyTo } = this.options;
    return {
      from: { name: fromName, address: fromAddress },
      to: { name: '', address: to },
      ...(replyTo !== '' && { replyTo: { name: '', address: replyTo } }),
      subject: email.subject,
      text,
      html: email.html,
      messageId: `<${email.messageId}>`,
      headers: {
        'List-Unsubscribe': `<${email.unsubscribeUrl}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        // No answering machine answers a receipt (RFC 3834).
        'Auto-Submitted': 'auto-generated',
      },
      attachments: email.attachments.map(({ filename, contentType, content, cid }) => ({
        ...{ filename, contentType, content },
        ...(cid !== undefined && { cid, contentDisposition: 'inline' as const }),
      })),
    };
  }
}

function dkimOf({ domain, selector, privateKey }: NonNullable<SmtpOptions['dkim']>) {
  return { domainName: domain, keySelector: selector, privateKey };
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
