export const PHONE = '+998901234567';
let number = 0;

/** Each a new one. */
export const anAddress = (): string => `buyer${String((number += 1))}@example.uz`;
export const byMail = (email = anAddress()): object => ({
  customer: { email },
  notify: { channels: ['email'], language: 'uz' },
});
export const bySms = (phone = `+9989${String(10_000_000 + (number += 1))}`): object => ({
  customer: { phone },
  notify: { channels: ['sms'] },
});

const TELEGRAM = { bot: 'some_test_bot', token: `12345:${'a'.repeat(35)}`, webhook_secret: 'x'.repeat(20) };

/** Provider, settings, and where the first fault is. */
export const REFUSED_ACCOUNTS = [
  ['telegram', { ...TELEGRAM, api_url: 'http://169.254.169.254/' }, '/settings/api_url'],
  ['telegram', { ...TELEGRAM, webhook_secret: 'short' }, '/settings/webhook_secret'],
  ['telegram', { bot: 'some_test_bot' }, '/settings/token'],
  ['smtp', { host: '10.0.0.1', from_address: 'a@b.uz', from_name: 'x' }, '/settings/host'],
  ['smtp', { host: 'mail.uz', from_address: 'a@b.uz', from_name: 'x\r\nBcc: y' }, '/settings/from_name'],
  [
    'smtp',
    { host: 'mail.uz', from_address: 'a@b.uz', from_name: 'x', username: 'u', password: 'p', security: 'none' },
    '/settings/security',
  ],
  ['smtp', { host: 'mail.uz', from_address: 'a@b.uz', from_name: 'x', dkim_domain: 'b.uz' }, '/settings/dkim_selector'],
  ['pigeon', {}, '/provider'],
] as const;

/** What a sale asks for that cannot be sent, where the fault is, and its code. */
export const REFUSED_WISHES: readonly (readonly [body: object, pointer: string, code: string | undefined])[] = [
  [{ notify: { channels: ['email'] } }, '/customer/email', 'required'],
  [{ notify: { channels: ['email'] }, customer: { email: 'a b@c.uz' } }, '/customer/email', 'invalid_format'],
  [{ notify: { channels: ['email'] }, customer: { email: 'a@b' } }, '/customer/email', 'invalid_format'],
  [{ notify: { channels: ['email'] }, customer: { email: '"x"@b.uz' } }, '/customer/email', 'invalid_format'],
  [{ notify: { channels: ['sms'] }, customer: { phone: '+79991234567' } }, '/customer/phone', 'invalid_format'],
  [{ notify: { channels: ['telegram'] }, customer: { phone: PHONE } }, '/notify/channels/0', 'channel_not_configured'],
  [{ notify: { channels: ['fax'] } }, '/notify/channels', 'invalid_value'],
  [{ notify: { channels: ['sms', 'sms'] }, customer: { phone: PHONE } }, '/notify/channels', undefined],
  [{ notify: { channels: [], language: 'de' } }, '/notify/language', 'invalid_value'],
  [{ notify: { channels: [], sound: true } }, '/notify/sound', 'unknown_field'],
];
