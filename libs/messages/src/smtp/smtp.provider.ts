import { createPrivateKey } from 'node:crypto';
import { readEmail } from '../address.js';
import { choice, field, optional, type ReadValue } from '#outgoing';
import { LINE_PATTERN, type FieldFault, type MessageProviderDefinition } from '../definition.js';
import { SmtpClient } from './smtp.client.js';
import { smtpReports } from './dsn.js';

const ADDRESS = /^[^\s@<>"]{1,64}@[^\s@<>"]{1,190}$/;
const HOST = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
const PEM = /^-----BEGIN [A-Z ]{1,40}-----[A-Za-z0-9+/=\s]{1,8000}-----END [A-Z ]{1,40}-----\s*$/;
/** Ports of submission and of mail: another one is no mail server, and must not be tried by way of us. */
const PORT = /^(25|465|587|2525|[1-9]\d{3,4})$/;

export const SMTP: MessageProviderDefinition = {
  channel: 'email',
  fields: {
    host: field({ pattern: HOST }),
    port: optional({ pattern: PORT, fallback: '587' }),
    security: choice('starttls', 'tls', 'none'),
    username: optional({ pattern: /^[\x21-\x7e]{1,200}$/, fallback: '' }),
    password: optional({ secret: true, fallback: '', pattern: /^[\x20-\x7e]{1,200}$/ }),
    from_address: field({ pattern: ADDRESS }),
    from_name: field({ pattern: LINE_PATTERN }),
    reply_to: optional({ pattern: ADDRESS, fallback: '' }),
    dkim_domain: optional({ pattern: HOST, fallback: '' }),
    dkim_selector: optional({ pattern: /^[A-Za-z0-9._-]{1,63}$/, fallback: '' }),
    dkim_private_key: optional({ secret: true, pattern: PEM, fallback: '' }),
    ca: optional({ pattern: PEM, fallback: '' }),
  },
  places: ['host', 'port', 'security', 'ca'],
  faults,
  sender: (read, reach) =>
    new SmtpClient(
      {
        ...{ host: read('host'), port: Number(read('port')), security: securityOf(read('security')) },
        ...{ username: read('username'), password: read('password'), ca: read('ca') },
        ...{ fromAddress: read('from_address'), fromName: read('from_name'), replyTo: read('reply_to') },
        dkim: dkimOf(read),
      },
      reach,
    ),
  reports: smtpReports,
};

function securityOf(word: string): 'tls' | 'starttls' | 'none' {
  return word === 'tls' || word === 'none' ? word : 'starttls';
}

function dkimOf(read: ReadValue): { domain: string; selector: string; privateKey: string } | null {
  const [domain, selector, privateKey] = [read('dkim_domain'), read('dkim_selector'), read('dkim_private_key')];
  return domain === '' || selector === '' || privateKey === '' ? null : { domain, selector, privateKey };
}

function faults(read: ReadValue): FieldFault[] {
  const found: FieldFault[] = [];
  for (const name of ['from_address', 'reply_to']) {
    const reading = read(name) === '' ? null : readEmail(read(name));
    if (reading?.kind === 'invalid') found.push({ field: name, detail: reading.reason });
  }
  const dkim = ['dkim_domain', 'dkim_selector', 'dkim_private_key'];
  const missing = dkim.filter((name) => read(name) === '');
  if (missing.length > 0 && missing.length < dkim.length) {
    found.push(...missing.map((name) => ({ field: name, detail: 'DKIM needs domain, selector and key together' })));
  }
  const key = read('dkim_private_key');
  if (key !== '' && !isPrivateKey(key)) found.push({ field: 'dkim_private_key', detail: 'is no private key in PEM' });
  if (read('username') === '' && read('password') !== '')
    found.push({ field: 'username', detail: 'a password needs its user' });
  if (read('username') !== '' && read('security') === 'none') {
    found.push({ field: 'security', detail: 'a password is sent over an encrypted connection alone' });
  }
  return found;
}

function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa' || createPrivateKey(pem).asymmetricKeyType === 'ed25519';
  } catch {
    // Whatever is wrong with it, it is none.
    return false;
  }
}
