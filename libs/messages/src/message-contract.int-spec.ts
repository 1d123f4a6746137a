// Promise: what a sender says of a message never claims less than what happened, whatever goes wrong on the way, and each call is as its provider's documents have it.
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { newId } from '#runtime';
import {
  MESSAGE_DEFINITIONS,
  type MessageProviderCode,
  type MessageSender,
  type OutgoingMessage,
  type SendOutcome,
} from './index.js';
import { SmtpClient, type SmtpOptions } from './smtp/smtp.client.js';
import { selfSigned } from './testing/certificates.js';
import { FOREIGN, ForeignMailServer, HAS_FOREIGN_SERVER } from './testing/foreign-mail-server.js';
import { MailServer, type MailFault, type MailServerOptions } from './testing/mail-server.js';
import { HTTP_PROVIDERS, type HttpProvider } from './testing/message-schemas.js';
import { loopbackReach } from './testing/reach-loopback.js';
import { ACCOUNT, SimulatedProvider, type SendFault } from './testing/simulated-provider.js';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function message(more: Partial<OutgoingMessage> = {}): OutgoingMessage {
  const id = newId('msg');
  return { id, to: '998901234567', text: `Chek ${id}`, email: null, callbackUrl: null, isQuiet: false, ...more };
}

function letter(more: Partial<OutgoingMessage> = {}): OutgoingMessage {
  const id = newId('msg');
  return message({
    ...{ id, to: 'anna@example.uz' },
    email: {
      ...{ subject: 'Chek «№1»', html: '<p>ёғў</p>', messageId: `${id}@shop.example` },
      unsubscribeUrl: 'https://gateway.example/u/x',
      attachments: [{ filename: 'chek.pdf', contentType: 'application/pdf', content: Buffer.from('%PDF-1.7') }],
    },
    ...more,
  });
}

function senderOf(code: MessageProviderCode, values: Record<string, string>): MessageSender {
  const { fields, sender } = MESSAGE_DEFINITIONS[code];
  return sender((name) => values[name] ?? fields[name]?.fallback ?? '', loopbackReach());
}

async function simulated(code: HttpProvider): Promise<{ there: SimulatedProvider; sender: MessageSender }> {
  const there = await SimulatedProvider.start(code);
  closing.push(() => there.stop());
  const values = {
    ...{ api_url: there.url, email: ACCOUNT.email, login: ACCOUNT.login, password: ACCOUNT.password },
    ...{ from: ACCOUNT.from, originator: ACCOUNT.from, token: ACCOUNT.token, bot: ACCOUNT.bot },
  };
  return { there, sender: senderOf(code, values) };
}

describe.each(HTTP_PROVIDERS)('%s', (code) => {
  test('a message is sent once, with its text, to its address', async () => {
    const { there, sender } = await simulated(code);
    const one = message({ callbackUrl: 'https://gateway.example/c' });
    expect(await sender.send(one)).toMatchObject({ kind: 'sent' });
    expect(there.taken).toMatchObject([{ to: one.to, text: one.text }]);
    expect(there.violations).toEqual([]);
  });

  const faults: [SendFault, string, number][] = [
    ['drop_request', 'unclear', 0],
    ['drop_answer', 'unclear', 1],
    // Half an answer of PlayMobile says with its status that the request was received; it cannot be read whole.
    ['half_answer', 'unclear', 1],
    ['late_answer', 'unclear', 1],
    ['error_before', 'unclear', 0],
    ['error_after', 'unclear', 1],
    ['refuse', 'refused', 0],
    ['too_often', 'not_now', 0],
  ];
  test.each(faults)('%s is %s', async (fault, kind, sent) => {
    const { there, sender } = await simulated(code);
    if (code === 'eskiz') await sender.ask?.({ id: 'x', providerRef: 'x', to: '', text: '', triedAt: new Date() });
    there.faults = [fault];
    expect(await sender.send(message())).toMatchObject({ kind });
    expect(there.taken).toHaveLength(sent);
    expect(there.violations).toEqual([]);
  });

  test('a wrong key is the account’s, and nothing is sent', async () => {
    const { there, sender } = await simulated(code);
    there.password = 'another-password';
    expect(await sender.send(message())).toMatchObject({ kind: 'account_refused' });
    expect(there.taken).toEqual([]);
  });

  test('an address without a server: nothing was sent', async () => {
    const { there, sender } = await simulated(code);
    await there.stop();
    closing.length = 0;
    expect(await sender.send(message())).toMatchObject({ kind: 'not_now' });
  });
});

describe('eskiz', () => {
  test('a token that has ended is replaced, and the message sent once', async () => {
    const { there, sender } = await simulated('eskiz');
    await sender.send(message());
    there.expireTokens();
    expect(await sender.send(message())).toMatchObject({ kind: 'sent' });
    expect(there.taken).toHaveLength(2);
  });

  test('a message whose answer was lost is found by its id, among many; one that never arrived is not', async () => {
    const { there, sender } = await simulated('eskiz');
    for (let index = 0; index < 450; index += 1)
      there.taken.push({
        id: `sms${String(index)}`,
        ref: `r${String(index)}`,
        to: '998900000000',
        text: 'x',
        callbackUrl: null,
      });
    there.faults = ['drop_answer'];
    const one = message();
    expect(await sender.send(one)).toMatchObject({ kind: 'unclear' });
    const question = { ...one, providerRef: null, triedAt: new Date() };
    const found = await sender.ask?.(question);
    expect(found).toMatchObject({ kind: 'status', state: 'sent', parts: 1, costTiyin: 5_000 });
    expect(await sender.ask?.({ ...question, id: newId('msg'), text: 'other' })).toEqual({ kind: 'not_found' });
    expect(there.violations).toEqual([]);
  });

  test.each([
    ['DELIVERED', 'delivered', false],
    ['REJECTED', 'failed', true],
    ['UNDELIVERABLE', 'failed', false],
    ['EXPIRED', 'failed', false],
    ['STORED', 'sent', false],
  ])('%s is %s', async (word, state, isAddressRefused) => {
    const { there, sender } = await simulated('eskiz');
    const outcome = await sender.send(message());
    const providerRef = outcome.kind === 'sent' ? outcome.providerRef : null;
    there.setState(providerRef ?? '', word);
    const question = { id: 'x', providerRef, to: '', text: '', triedAt: new Date() };
    expect(await sender.ask?.(question)).toMatchObject({ kind: 'status', state, isAddressRefused });
  });
});

test('telegram: a chat that has blocked the bot takes nothing; too many calls name when the next may come', async () => {
  const { there, sender } = await simulated('telegram');
  there.setState('77', 'blocked');
  expect(await sender.send(message({ to: '77' }))).toMatchObject({ kind: 'address_refused', code: '403' });
  there.faults = ['too_often'];
  expect(await sender.send(message({ to: '78' }))).toMatchObject({ kind: 'not_now', retryAfterMs: 7_000 });
});

describe('smtp', () => {
  const good = selfSigned('mail.example.uz');

  async function mail(
    options: MailServerOptions = {},
    values: Record<string, string> = {},
  ): Promise<{ there: MailServer; sender: MessageSender }> {
    const there = await MailServer.start(options);
    closing.push(() => there.stop());
    const account = {
      ...{ host: 'mail.example.uz', port: String(there.port), from_address: 'chek@shop.example', from_name: 'Do‘kon' },
      ...{
        security: options.key === undefined ? 'none' : options.secure === true ? 'tls' : 'starttls',
        ca: options.cert ?? '',
      },
      ...values,
    };
    return { there, sender: senderOf('smtp', account) };
  }

  test('a letter arrives whole: both forms, attachment, Message-ID, one-click unsubscribe', async () => {
    const { there, sender } = await mail();
    const one = letter();
    expect(await sender.send(one)).toEqual({ kind: 'sent', providerRef: one.email!.messageId });
    expect(there.letters).toMatchObject([
      { messageId: one.email!.messageId, from: 'chek@shop.example', to: ['anna@example.uz'] },
    ]);
    const raw = there.letters[0]!.raw.replaceAll(/\r\n[ \t]/g, ' ');
    for (const line of [
      /^List-Unsubscribe: <https:\/\/gateway\.example\/u\/x>$/m,
      /^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/m,
      /^Auto-Submitted: auto-generated$/m,
      /^Content-Type: text\/plain; charset=utf-8$/im,
      /^Content-Type: text\/html; charset=utf-8$/im,
      /^Content-Type: application\/pdf; name=chek\.pdf$/m,
    ])
      expect(raw).toMatch(line);
  });

  const faults: [MailFault, string, number][] = [
    ['greylist', 'not_now', 0],
    ['unknown_mailbox', 'address_refused', 0],
    ['policy', 'refused', 0],
    ['sender_refused', 'account_refused', 0],
    ['cut_at_once', 'not_now', 0],
    ['cut_at_rcpt', 'not_now', 0],
    ['cut_after_letter', 'unclear', 1],
    ['answer_4xx_after_letter', 'not_now', 1],
  ];
  test.each(faults)('%s is %s', async (fault, kind, kept) => {
    const { there, sender } = await mail();
    there.faults = [fault];
    const outcome = await sender.send(letter());
    // Where a connection was cut early, "unclear" is right too: letters may be sent again.
    const allowed = kind === 'not_now' && fault.startsWith('cut') ? ['not_now', 'unclear'] : [kind];
    expect(allowed).toContain(outcome.kind);
    expect(there.letters).toHaveLength(kept);
  });

  test('over STARTTLS and over TLS, with a password', async () => {
    for (const secure of [false, true]) {
      const options = { ...good, secure, password: 'right' };
      const { there, sender } = await mail(options, { username: 'shop', password: 'right' });
      expect(await sender.send(letter())).toMatchObject({ kind: 'sent' });
      expect(there.letters).toMatchObject([{ isEncrypted: true, user: 'shop' }]);
      const wrong = await mail(options, { username: 'shop', password: 'wrong' });
      expect(await wrong.sender.send(letter())).toMatchObject({ kind: 'account_refused' });
    }
  });

  test.each([
    ['of another name', { ...selfSigned('other.example.uz') }, undefined],
    ['of an authority that is not trusted', good, selfSigned('mail.example.uz').cert],
  ])('a certificate %s: neither password nor letter is sent', async (_name, certificate, ca) => {
    const { there, sender } = await mail(
      { ...certificate, password: 'right' },
      { username: 'shop', password: 'right', ca: ca ?? certificate.cert },
    );
    expect(await sender.send(letter())).toMatchObject({ kind: 'not_now' });
    expect(there.letters).toEqual([]);
  });

  test('a server that takes STARTTLS away gets neither password nor letter', async () => {
    const { there, sender } = await mail({}, { security: 'starttls' });
    expect((await sender.send(letter())).kind).toBe('not_now');
    expect(there.letters).toEqual([]);
  });

  test('no line of a header comes from a name, an address or a subject', async () => {
    const { there, sender } = await mail({}, { from_name: 'Shop\r\nBcc: thief@evil.example' });
    const one = letter();
    await sender.send({ ...one, email: { ...one.email!, subject: 'A\r\nBcc: thief@evil.example\r\n\r\nbody' } });
    const [got] = there.letters;
    expect(got?.to).toEqual(['anna@example.uz']);
    expect(got?.raw.split(/\r?\n\r?\n/)[0]).not.toMatch(/^Bcc:/im);
  });

  test('a server that says nothing is given up in time', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => silent.close(() => resolve())));
    const { port } = silent.address() as AddressInfo;
    const account = { host: 'x.uz', port: String(port), from_address: 'a@b.uz', from_name: 'S', security: 'none' };
    expect((await senderOf('smtp', account).send(letter())).kind).toMatch(/not_now|unclear/);
  });

  test('a server that goes on answering without end has its connection closed: unclear', async () => {
    const closed: Promise<unknown>[] = [];
    const dripping = createServer((socket) => {
      const line = setInterval(() => socket.write('250-x\r\n'), 20);
      closed.push(new Promise((resolve) => socket.once('close', resolve)).finally(() => clearInterval(line)));
      socket.on('error', () => undefined).resume();
      socket.write('220 x.uz ESMTP\r\n');
    });
    await new Promise<void>((resolve) => dripping.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => dripping.close(() => resolve())));
    const options: SmtpOptions = {
      ...{ host: 'x.uz', port: (dripping.address() as AddressInfo).port, security: 'none', username: '', password: '' },
      ...{ fromAddress: 'a@b.uz', fromName: 'S', replyTo: '', dkim: null, ca: '' },
    };
    const sender = new SmtpClient(options, loopbackReach(), 300);
    expect(await sender.send(letter())).toMatchObject({ kind: 'unclear' });
    expect(closed).toHaveLength(1);
    await Promise.all(closed);
  });
});

const withForeignServer = HAS_FOREIGN_SERVER || process.env['CI'] === 'true' ? describe : describe.skip;

withForeignServer('a mail server that knows nothing of us (exim)', () => {
  const certificate = selfSigned('mail.example.uz');

  async function foreign(
    values: Record<string, string> = {},
    presented = certificate,
  ): Promise<{ there: ForeignMailServer; sender: MessageSender }> {
    const there = await ForeignMailServer.start(presented);
    closing.push(() => there.stop());
    const account = { host: 'mail.example.uz', port: String(there.port), security: 'starttls', ca: presented.cert };
    const from = { from_address: 'chek@shop.example', from_name: 'Do‘kon' };
    return { there, sender: senderOf('smtp', { ...account, ...from, ...values }) };
  }

  test('takes a letter over STARTTLS, puts it off, refuses it for good: each is known by its answer', async () => {
    const { there, sender } = await foreign();
    const to = (name: string): OutgoingMessage => letter({ to: `${name}@example.uz` });
    expect(await answered(sender, to(FOREIGN.missing))).toMatchObject({ kind: 'address_refused', code: '550 5.1.1' });
    expect(await answered(sender, to(FOREIGN.refused))).toMatchObject({ kind: 'refused', code: '550 5.7.1' });
    const late = letter({ to: `${FOREIGN.greylisted}@example.uz` });
    expect(await answered(sender, late)).toMatchObject({ kind: 'not_now', code: '451 4.7.1' });
    expect(await there.letters()).toEqual([]);
    await there.stopGreylisting();
    expect(await answered(sender, late)).toMatchObject({ kind: 'sent' });
    const kept = await there.letters();
    expect(kept.length).toBeGreaterThan(0);
    for (const { protocol, raw } of kept)
      expect([protocol, raw]).toEqual(['esmtps', expect.stringContaining(`Message-ID: <${late.email!.messageId}>`)]);
  });

  test('with a certificate of another name gets neither password nor letter', async () => {
    const { there, sender } = await foreign({ username: 'shop', password: 'right' }, selfSigned('other.example.uz'));
    expect(await sender.send(letter())).toMatchObject({ kind: 'not_now' });
    expect(await there.letters()).toEqual([]);
  });

  test('gets letters whose signature another program finds good (DKIM), and bad when a line was changed', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const { there, sender } = await foreign({
      ...{ dkim_domain: 'shop.example', dkim_selector: 's1' },
      dkim_private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    });
    expect(await answered(sender, letter())).toMatchObject({ kind: 'sent' });
    const raw = (await there.letters())[0]?.raw ?? '';
    const signed = (/^DKIM-Signature: [^\r]*(?:\r\n[ \t][^\r]*)*/m.exec(raw)?.[0] ?? '').replaceAll(/\s/g, '');
    for (const name of ['from', 'to', 'subject', 'message-id', 'list-unsubscribe'])
      expect(signed.toLowerCase()).toMatch(new RegExp(`[;]h=[^;]*\\b${name}\\b`));
    const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    const verdicts = [raw, raw.replace('=C2=AB', '=C2=BB'), raw.replace('To: anna', 'To: bob'), `${raw}more\r\n`].map(
      (one) => verified(one, key),
    );
    expect(verdicts).toEqual(['good', 'bad', 'bad', 'bad']);
  });
});

/** What the server answered: on a machine that has much to do its process may begin too late for the sender's patience. */
async function answered(sender: MessageSender, one: OutgoingMessage): Promise<SendOutcome> {
  for (const deadline = Date.now() + 60_000; ;) {
    const outcome = await sender.send(one);
    const isSilence = outcome.kind === 'unclear' || (outcome.kind === 'not_now' && !/^\d/.test(outcome.code));
    if (!isSilence || Date.now() > deadline) return outcome;
  }
}

/** By Debian's python3-dkim, with the key that its record in the DNS would have. */
function verified(raw: string, key: string): string {
  const program = [
    'import sys, dkim',
    "record = lambda name, timeout=5: ('v=DKIM1; k=rsa; p=' + sys.argv[1]).encode() if name == b's1._domainkey.shop.example.' else None",
    "print('good' if dkim.verify(sys.stdin.buffer.read(), dnsfunc=record) else 'bad')",
  ].join('\n');
  return execFileSync('/usr/bin/python3', ['-c', program, key], { input: raw, encoding: 'utf8' }).trim();
}
