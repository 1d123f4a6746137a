// Promise: an address that cannot be one is refused, an SMS is counted as it is billed, and no text of a merchant becomes a header, a tag or a foreign link.
import { Ajv2020 } from 'ajv/dist/2020.js';
import {
  addressIn,
  CHANNELS,
  DEFAULT_TEMPLATES,
  emailHtml,
  emailText,
  maskedAddress,
  MESSAGE_DEFINITIONS,
  MESSAGE_LANGUAGES,
  readEmail,
  readPhone,
  readTelegramUpdate,
  renderText,
  smsSize,
  templateFault,
  withoutAddresses,
  withoutHomographs,
  type EmailContent,
  type MessageFacts,
} from './index.js';
import { smtpFailure } from './smtp/smtp.transform.js';
import { errorsOf, HTTP_PROVIDERS, messageSchemaFile } from './testing/message-schemas.js';

const LINK = `https://receipts.example.uz/r/${'a'.repeat(26)}.${'b'.repeat(16)}`;
const FACTS: MessageFacts = {
  ...{ merchant: 'Non bozori', type: 'sale', sum: '12 000,00', date: '02.01.2026 08:04:05', number: '17' },
  link: LINK,
};

describe('addresses', () => {
  it.each(['a@b.uz', 'First.Last+tag@mail.example.com', "o'neil@x.co", 'a@пример.рф', 'x@xn--e1afmkfd.xn--p1ai'])(
    '%s is one',
    (text) => {
      expect(readEmail(text)).toMatchObject({ kind: 'ok' });
    },
  );

  it.each([
    ...['', 'a', '@b.uz', 'a@', 'a@b', 'a b@c.uz', 'a@b..uz', '.a@b.uz', 'a.@b.uz', '"a b"@c.uz', 'a@[127.0.0.1]'],
    ...[
      'a@b.uz\r\nBcc: x@y.uz',
      'a@b.uz\n',
      'a\u0000@b.uz',
      'a@-b.uz',
      'a@b_.uz',
      'a@b.1',
      '<a@b.uz>',
      'a@b.uz, c@d.uz',
    ],
    ...[`${'a'.repeat(65)}@b.uz`, `a@${'b'.repeat(250)}.uz`, 'a@b.uz:25', 'а@b.uz'],
  ])('%j is none', (text) => {
    expect(readEmail(text)).toMatchObject({ kind: 'invalid' });
  });

  it('a domain in another script is written in ASCII, in lower case', () => {
    expect(readEmail('A@Пример.РФ')).toEqual({ kind: 'ok', address: 'A@xn--e1afmkfd.xn--p1ai' });
  });

  it('phones are mobile numbers of Uzbekistan', () => {
    expect(readPhone('+998901234567')).toEqual({ kind: 'ok', address: '998901234567' });
    for (const text of ['901234567', '+79991234567', '99890123456', '9989012345678', '998901234567\n'])
      expect(readPhone(text)).toMatchObject({ kind: 'invalid' });
  });

  it('what is shown cannot be used', () => {
    expect(maskedAddress('email', 'anna@mail.uz')).toBe('a***@mail.uz');
    expect(maskedAddress('sms', '998901234567')).toBe('+998*****4567');
    expect(withoutAddresses('550 5.1.1 <anna@mail.uz>: no; 998901234567')).toBe('550 5.1.1 <[address]>: no; [number]');
  });
});

describe('the size of an SMS', () => {
  it.each([
    ['a'.repeat(160), 'gsm7', 1],
    ['a'.repeat(161), 'gsm7', 2],
    ['a'.repeat(306), 'gsm7', 2],
    ['a'.repeat(307), 'gsm7', 3],
    [`${'a'.repeat(158)}€`, 'gsm7', 1],
    [`${'a'.repeat(159)}€`, 'gsm7', 2],
    ['я'.repeat(70), 'ucs2', 1],
    ['я'.repeat(71), 'ucs2', 2],
    ['я'.repeat(134), 'ucs2', 2],
    ['я'.repeat(135), 'ucs2', 3],
  ] as const)('%s', (text, encoding, parts) => {
    expect(smsSize(text)).toMatchObject({ encoding, parts });
  });

  it.each(['uz', 'en'] as const)('the %s text fits one part, whatever the merchant is called in Latin', (language) => {
    for (const type of ['sale', 'refund', 'advance', 'credit'] as const)
      for (const merchant of ['O‘zbekiston savdo uyi «Oltin vodiy»', 'x'.repeat(300)]) {
        const facts = { ...FACTS, merchant, type, sum: '9 007 199 254 740,99' };
        const { text, parts } = renderText('sms', DEFAULT_TEMPLATES.sms[language], { facts, language });
        expect([parts, text.endsWith(LINK)]).toEqual([1, true]);
      }
  });
});

describe('templates', () => {
  it('of their own are good in every channel and language', () => {
    for (const byLanguage of Object.values(DEFAULT_TEMPLATES))
      for (const language of MESSAGE_LANGUAGES)
        expect([templateFault(byLanguage[language].subject), templateFault(byLanguage[language].text)]).toEqual([
          null,
          null,
        ]);
  });

  it.each([
    ...['{secret}', '{merchant', 'merchant}', '{{merchant}}', '{constructor}', '{__proto__}', '{link}'.repeat(21)],
    ...[
      'see https://evil.example',
      'www.evil.uz',
      'mailto:a@b.uz',
      'аpple.com',
      'раураl.com',
      'evil。com',
      'evil.xn--p1ai',
    ],
    ...['{mer{merchant}chant}', 'javascript://x'],
  ])('%j is refused', (text) => {
    expect(templateFault(text)).not.toBeNull();
  });

  it.each(['1.5 kg', '12.03.2026', 'Rahmat. Yana keling!', 'т.д. и т.п.', 'No. {number}'])(
    '%j names no address',
    (text) => {
      expect(addressIn(text)).toBeNull();
    },
  );

  it('values are put in once: what they hold of braces stays', () => {
    const facts = { ...FACTS, merchant: '{link}{link}{merchant}' };
    const { text } = renderText('telegram', { subject: '', text: '{merchant}' }, { facts, language: 'en' });
    expect(text).toBe('{link}{link}{merchant}');
  });

  it('the largest template filled with the largest values stays small', () => {
    const facts = { ...FACTS, merchant: 'x'.repeat(5_000), link: `${LINK}${'y'.repeat(3_000)}` };
    const template = { subject: '{merchant}'.repeat(20), text: '{link}'.repeat(20) };
    const { subject, text } = renderText('email', template, { facts, language: 'uz' });
    expect([subject.length <= 200, text.length <= 4_000]).toEqual([true, true]);
  });

  it('a subject is one line without marks that turn writing around', () => {
    const facts = { ...FACTS, merchant: 'Shop\r\nBcc: x@y.uz\u202e\u0000' };
    const { subject } = renderText('email', DEFAULT_TEMPLATES.email.en, { facts, language: 'en' });
    expect(subject).toBe('Shop Bcc: x@y.uz: Receipt, 12 000,00 UZS');
  });

  it('a name is cut at a whole character, and no text ends with half of one', () => {
    for (const merchant of [`a${'🍕'.repeat(90)}`, '🍕'.repeat(2_100)])
      for (const channel of CHANNELS) {
        const template = { subject: '{merchant}{merchant}{merchant}', text: '{merchant}'.repeat(50) };
        const rendered = renderText(channel, template, { facts: { ...FACTS, merchant }, language: 'uz' });
        for (const text of [rendered.subject, rendered.text, rendered.merchant])
          expect(text).not.toMatch(/\p{Surrogate}/u);
      }
  });

  it('a letter names the seller around the text as the text does', () => {
    const facts = { ...FACTS, merchant: 'аpple.com\u202e\r\nShop' };
    expect(renderText('email', DEFAULT_TEMPLATES.email.en, { facts, language: 'en' }).merchant).toBe('аpple com Shop');
  });

  it('a name that only looks like an address is no link; one in plain letters stays', () => {
    expect(withoutHomographs('аpple.com')).toBe('аpple com');
    expect(withoutHomographs('korzinka.uz savdo 1.5')).toBe('korzinka.uz savdo 1.5');
  });
});

describe('the letter', () => {
  const content: EmailContent = {
    ...{ language: 'ru', subject: 'S', text: 'one\n\ntwo', merchant: '<script>alert(1)</script>', total: '1 сум' },
    ...{
      date: 'd',
      number: 'n"onload=x',
      link: LINK,
      unsubscribeUrl: `${LINK}?u`,
      header: '<img src=x>',
      footer: "f'&",
    },
    ...{ hasLogo: true, isTest: false },
  };

  it('holds what a merchant wrote as text alone, and nothing from elsewhere', () => {
    const html = emailHtml(content);
    expect(html).not.toMatch(/<script|<img src=x|onload=x"/);
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    const links = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map((match) => match[1]);
    expect(new Set(links)).toEqual(new Set(['cid:logo', LINK, `${LINK}?u`]));
    expect(html).not.toMatch(/url\(|@import|<link|<iframe|<form/);
    expect(html).toContain('prefers-color-scheme:dark');
  });

  it('says the same as text', () => {
    const text = emailText(content);
    for (const word of [content.merchant, content.total, LINK, content.unsubscribeUrl, content.footer])
      expect(text).toContain(word);
  });
});

describe('what a mail server says', () => {
  const reply = (responseCode: number, command: string, response: string): unknown =>
    Object.assign(new Error(response), { responseCode, command, response, code: 'EENVELOPE' });

  it.each([
    [reply(550, 'RCPT TO', '550 5.1.1 User unknown'), 'address_refused'],
    [reply(550, 'RCPT TO', '550 No such user'), 'address_refused'],
    [reply(550, 'RCPT TO', '550 5.7.1 policy'), 'refused'],
    [reply(552, 'RCPT TO', '552 5.2.2 mailbox full'), 'refused'],
    [reply(451, 'RCPT TO', '451 4.7.1 greylisted'), 'not_now'],
    [reply(421, 'DATA', '421 4.3.2 shutting down'), 'not_now'],
    [reply(554, 'DATA', '554 5.6.0 content'), 'refused'],
    [reply(553, 'MAIL FROM', '553 5.7.1 sender'), 'account_refused'],
    [reply(535, 'AUTH PLAIN', '535 5.7.8 credentials'), 'account_refused'],
    [Object.assign(new Error('cut'), { code: 'ESOCKET', command: 'DATA' }), 'unclear'],
    [Object.assign(new Error('cut'), { code: 'ECONNECTION', command: 'CONN' }), 'unclear'],
    [Object.assign(new Error('no such host'), { code: 'EDNS', command: 'CONN' }), 'not_now'],
    [reply(500, 'STARTTLS', '500 not recognized'), 'not_now'],
    [reply(554, 'CONN', '554 no service'), 'not_now'],
    [Object.assign(new Error('self-signed'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }), 'not_now'],
    [new Error('odd'), 'unclear'],
    [null, 'unclear'],
  ])('%s is %s', (error, kind) => {
    expect(smtpFailure(error)).toMatchObject({ kind });
  });

  it('a bounce or complaint names our letter, and stops the address where it is the reason', () => {
    const id = `msg_${'0'.repeat(26)}`;
    const dsn = (status: string, action = 'failed'): string =>
      `Final-Recipient: rfc822; a@b.uz\r\nAction: ${action}\r\nStatus: ${status}\r\n\r\nMessage-ID: <${id}@shop.uz>\r\n`;
    const read = (message: string): unknown => MESSAGE_DEFINITIONS.smtp.reports?.({ message });
    expect(read(dsn('5.1.1'))).toMatchObject([{ messageId: id, status: { state: 'failed', isAddressRefused: true } }]);
    expect(read(dsn('5.2.2'))).toMatchObject([{ messageId: id, status: { state: 'failed', isAddressRefused: false } }]);
    expect(read(dsn('4.2.2', 'delayed'))).toEqual([]);
    expect(read(`Feedback-Type: abuse\r\nMessage-ID: <${id}@shop.uz>`)).toMatchObject([
      { status: { isAddressRefused: true } },
    ]);
    expect(read('hello')).toEqual([]);
    expect(read('')).toBeNull();
  });
});

describe('what is said to a bot', () => {
  const update = (message: object): unknown => ({
    update_id: 1,
    message: {
      message_id: 1,
      date: 1,
      chat: { id: 5, type: 'private' },
      from: { id: 5, language_code: 'ru' },
      ...message,
    },
  });

  it.each([
    [update({ text: '/start abc_DEF-1' }), { kind: 'start', chatId: '5', payload: 'abc_DEF-1' }],
    [update({ text: '/start' }), { kind: 'start', payload: null }],
    [update({ text: '/start ../../x' }), { kind: 'other' }],
    [update({ text: '/stop' }), { kind: 'stop' }],
    [update({ text: 'hello' }), { kind: 'other' }],
    [
      update({ contact: { phone_number: '+998901234567', first_name: 'A', user_id: 5 } }),
      { kind: 'own_contact', phone: '998901234567' },
    ],
    [update({ contact: { phone_number: '998901234567', first_name: 'A', user_id: 6 } }), { kind: 'foreign_contact' }],
    [update({ contact: { phone_number: '998901234567', first_name: 'A' } }), { kind: 'foreign_contact' }],
    [
      update({ contact: { phone_number: '1', first_name: 'A', user_id: 5 }, forward_date: 1 }),
      { kind: 'foreign_contact' },
    ],
  ])('%j', (body, expected) => {
    expect(errorsOf('telegram', 'Update', body)).toEqual([]);
    expect(readTelegramUpdate(body)).toMatchObject(expected);
  });

  it('nothing is read from a group, or from what is no update', () => {
    expect(readTelegramUpdate(update({ chat: { id: -5, type: 'group' }, text: '/stop' }))).toBeNull();
    for (const body of [null, 1, [], {}, { message: null }, { message: {} }])
      expect(readTelegramUpdate(body)).toBeNull();
  });
});

describe.each(HTTP_PROVIDERS)('the schema file of %s', (provider) => {
  const file = messageSchemaFile(provider);

  it('names the source of each field and of each call, and uses each', () => {
    const sources = Object.keys(file['x-sources']);
    const fields: Record<string, unknown>[] = [];
    const collect = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return;
      const { properties = {}, items } = node as {
        properties?: Record<string, Record<string, unknown>>;
        items?: unknown;
      };
      for (const field of Object.values(properties)) {
        fields.push(field);
        collect(field);
      }
      collect(items);
    };
    Object.values(file.$defs).forEach(collect);
    expect(fields.filter((field) => !sources.includes(String(field['x-source'])))).toEqual([]);
    expect(file['x-calls'].filter((call) => !sources.includes(call['x-source']))).toEqual([]);
    const text = JSON.stringify([file.$defs, file['x-calls']]);
    expect(sources.filter((source) => !text.includes(`"x-source":"${source}"`))).toEqual([]);
    expect(fields.length).toBeGreaterThan(10);
    expect(file['x-open'].length).toBeGreaterThan(4);
  });

  it('gives examples that are as it says', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(file, provider);
    for (const [name, { examples = [] }] of Object.entries(file.$defs) as [string, { examples?: unknown[] }][])
      for (const example of examples) expect([name, errorsOf(provider, name, example)]).toEqual([name, []]);
  });
});

it('reports are read as their documents write them', () => {
  const report = messageSchemaFile('eskiz').$defs['Report']?.['examples'] as unknown[];
  expect(MESSAGE_DEFINITIONS.eskiz.reports?.(report[0])).toMatchObject([
    {
      messageId: 'sms1',
      providerRef: '59bf10a2-aba8-4694-8fd5-0be20102a580',
      status: { state: 'delivered', parts: 1 },
    },
  ]);
  const other = messageSchemaFile('playmobile').$defs['Report']?.['examples'] as unknown[];
  expect(MESSAGE_DEFINITIONS.playmobile.reports?.(other[0])).toMatchObject([
    { messageId: 'abc000000001', status: { state: 'delivered' } },
  ]);
  for (const body of [null, [], 1, 'x', {}, { messages: 'x' }, { status: {} }]) {
    expect(MESSAGE_DEFINITIONS.eskiz.reports?.(body)).toBeNull();
    expect(MESSAGE_DEFINITIONS.playmobile.reports?.(body)).toBeNull();
  }
});
