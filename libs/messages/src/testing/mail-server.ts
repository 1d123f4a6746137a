import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';

/** What goes wrong with a letter, one for each connection, the first first. */
export type MailFault =
  | 'greylist'
  | 'unknown_mailbox'
  | 'policy'
  | 'not_logged_in'
  | 'sender_refused'
  | 'cut_at_once'
  | 'cut_at_rcpt'
  | 'cut_in_letter'
  | 'cut_after_letter'
  | 'answer_4xx_after_letter';

export interface ReceivedLetter {
  messageId: string;
  from: string;
  to: string[];
  isEncrypted: boolean;
  user: string | null;
  raw: string;
}

export interface MailServerOptions {
  /** PEM; without it the server knows no STARTTLS. */
  key?: string;
  cert?: string;
  secure?: boolean;
  password?: string;
}

/** A real SMTP server (smtp-server) that keeps what it has accepted, and fails as it was ordered to. */
export class MailServer {
  readonly letters: ReceivedLetter[] = [];
  faults: MailFault[] = [];
  chaos: { share: number; faults: readonly MailFault[]; chance: () => number } | null = null;
  /** Addresses that no mailbox has, at every try. */
  readonly unknown = new Set<string>();
  connections = 0;
  private readonly chosen = new Map<string, MailFault | null>();

  private constructor(
    private readonly server: SMTPServer,
    readonly port: number,
  ) {}

  static async start(options: MailServerOptions = {}): Promise<MailServer> {
    const made: { self?: MailServer } = {};
    const server = new SMTPServer({
      ...{ secure: options.secure ?? false, logger: false, size: 20_000_000, disableReverseLookup: true },
      ...(options.key !== undefined && { key: options.key, cert: options.cert }),
      ...(options.key === undefined && {
        disabledCommands: ['STARTTLS', ...(options.password === undefined ? ['AUTH'] : [])],
      }),
      ...(options.key !== undefined && options.password === undefined && { disabledCommands: ['AUTH'] }),
      authOptional: options.password === undefined,
      onAuth: ({ username, password }, _session, done) => {
        if (password === options.password) done(null, { user: username });
        else done(refusal(535, '5.7.8 Authentication credentials invalid'));
      },
      onConnect: (session, done) => (made.self ? made.self.onConnect(session, done) : done()),
      onMailFrom: (_address, session, done) => {
        if (made.self?.chosen.get(session.id) === 'sender_refused')
          done(refusal(553, '5.7.1 Sender address rejected: not owned by user'));
        else done();
      },
      onRcptTo: ({ address }, session, done) => (made.self ? made.self.onRcptTo(address, session, done) : done()),
      onData: (stream, session, done) => made.self?.onData(stream, session, done),
    });
    server.on('error', () => undefined);
    const listening = server.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    made.self = new MailServer(server, (listening.address() as AddressInfo).port);
    return made.self;
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => this.server.close(resolve));
  }

  private onConnect(session: SMTPServerSession, done: (error?: Error | null) => void): void {
    this.connections += 1;
    const fault = this.nextFault();
    this.chosen.set(session.id, fault);
    if (fault === 'cut_at_once') this.cut(session);
    else done();
  }

  private onRcptTo(address: string, session: SMTPServerSession, done: (error?: Error | null) => void): void {
    const fault = this.chosen.get(session.id);
    if (fault === 'cut_at_rcpt') return this.cut(session);
    if (fault === 'greylist') return done(refusal(451, '4.7.1 Greylisted, please try again later'));
    if (fault === 'unknown_mailbox' || this.unknown.has(address)) {
      return done(refusal(550, `5.1.1 <${address}>: Recipient address rejected: User unknown`));
    }
    if (fault === 'not_logged_in') return done(refusal(530, `5.7.1 <${address}>: not authenticated`));
    if (fault === 'policy') return done(refusal(550, '5.7.1 Message refused by policy'));
    return done();
  }

  private onData(stream: SMTPServerDataStream, session: SMTPServerSession, done: (error?: Error | null) => void): void {
    const fault = this.chosen.get(session.id);
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (fault === 'cut_in_letter') this.cut(session);
    });
    stream.on('end', () => {
      if (fault === 'cut_in_letter') return;
      const raw = Buffer.concat(chunks).toString('utf8');
      this.letters.push({
        messageId: /^Message-ID: <([^>]+)>/im.exec(raw)?.[1] ?? '',
        from: session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address,
        to: session.envelope.rcptTo.map(({ address }) => address),
        isEncrypted: session.secure,
        user: typeof session.user === 'string' ? session.user : null,
        raw,
      });
      if (fault === 'cut_after_letter') this.cut(session);
      else if (fault === 'answer_4xx_after_letter') done(refusal(451, '4.3.0 Local error in processing'));
      else done();
    });
  }

  /** The socket of a session is known to the server's connections alone. */
  private cut({ id }: SMTPServerSession): void {
    const { connections } = this.server as unknown as {
      connections: Set<{ id: string; _socket: { destroy(): void } }>;
    };
    for (const connection of connections) if (connection.id === id) connection._socket.destroy();
  }

  private nextFault(): MailFault | null {
    const next = this.faults.shift();
    if (next !== undefined) return next;
    if (!this.chaos || this.chaos.chance() >= this.chaos.share) return null;
    return this.chaos.faults[Math.floor(this.chaos.chance() * this.chaos.faults.length)] ?? null;
  }
}

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}
