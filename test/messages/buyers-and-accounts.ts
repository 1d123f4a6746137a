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
