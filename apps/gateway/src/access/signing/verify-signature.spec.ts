// Promise: a request passes as signed only when every part that counts is exactly what its signer signed, once, and in time.
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { digestChecked } from './content-digest.js';
import type { SignatureAlgorithm } from './signature-algorithms.js';
import {
  coveredBy,
  digestOf,
  ForeignSigner,
  outgoing,
  rawHeadersOf,
  type OutgoingRequest,
} from './testing/foreign-signer.js';
import { signedRequest } from './signed-request.js';
import { verifySignature, type SignatureVerdict } from './verify-signature.js';

const ALGORITHMS: readonly SignatureAlgorithm[] = ['ed25519', 'ecdsa-p256-sha256', 'rsa-pss-sha512', 'hmac-sha256'];
const signers = ALGORITHMS.map((algorithm) => ForeignSigner.create(`key_${algorithm}`, algorithm));
const keys = new Map(signers.map((signer) => [signer.keyId, signer.verifying]));
const publicHosts = new Set(['gateway.test', 'other.test:8080']);
const [ed25519] = signers as [ForeignSigner];

type Headers = Readonly<Record<string, string>>;
type Received = Omit<OutgoingRequest, 'headers'> & { headers: Headers };

function verify(
  request: Received,
  now = new Date(),
  rawHeaders = rawHeadersOf(request.headers),
): Promise<SignatureVerdict> {
  const body = Buffer.from(request.body);
  const { method, target } = request;
  return verifySignature(signedRequest(method, target, rawHeaders), { body, keys, publicHosts, now });
}

const codeOf = (verdict: SignatureVerdict): string => (verdict.kind === 'valid' ? 'valid' : verdict.code);

async function signed(
  request: OutgoingRequest = outgoing({ body: '{"a":1}' }),
  signer = ed25519,
  options: Parameters<ForeignSigner['sign']>[1] = {},
): Promise<Received> {
  return { ...request, headers: await signer.sign(request, options) };
}

/** Repeatable chance (mulberry32). */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

function randomRequest(next: (below: number) => number): OutgoingRequest {
  const word = (): string => Math.floor(next(2 ** 31)).toString(36);
  const body = next(4) === 0 ? '' : JSON.stringify({ [word()]: word(), текст: 'чай ☕', n: next(1_000) });
  return outgoing({
    method: ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'][next(5)]!,
    target: `/v1/${word()}/${word()}${['', '?', `?a=${word()}&b=%20${word()}`, '?x=1?2'][next(4)]!}`,
    body,
    headers: next(2) === 0 ? {} : { 'idempotency-key': word() },
  });
}

test('1 000 requests signed by another library pass, by all four algorithms', async () => {
  const next = chance(9_421);
  for (let at = 0; at < 1_000; at += 1) {
    const signer = signers[at % signers.length]!;
    const request = await signed(randomRequest(next), signer);
    expect(await verify(request)).toMatchObject({ kind: 'valid', keyId: signer.keyId, nonce: expect.any(String) });
  }
});

/** Another character in place of one; never the same, never a space. */
function bend(text: string, at: number): string {
  return `${text.slice(0, at)}${text[at] === 'q' ? 'z' : 'q'}${text.slice(at + 1)}`;
}

function bendHeader(name: string) {
  return (request: Received, next: (below: number) => number): Received => {
    const value = request.headers[name] ?? '';
    return { ...request, headers: { ...request.headers, [name]: bend(value, next(value.length)) } };
  };
}

type Mutation = (request: Received, next: (below: number) => number) => Received;

/** Where there is a body; else one is added. */
function ofBody(mutate: Mutation): Mutation {
  return (request, next) => (request.body === '' ? { ...request, body: 'q' } : mutate(request, next));
}

const MUTATIONS: Readonly<Record<string, Mutation>> = {
  method: (request) => ({ ...request, method: request.method === 'POST' ? 'PUT' : 'POST' }),
  path: (request) => ({ ...request, target: request.target.replace('/v1/', '/v1/q') }),
  query: (request) => ({ ...request, target: `${request.target}${request.target.includes('?') ? '&' : '?'}q=1` }),
  body: (request, next) => ({
    ...request,
    body: request.body === '' ? 'q' : bend(request.body, next(request.body.length)),
  }),
  authorization: bendHeader('authorization'),
  'content-type': ofBody(bendHeader('content-type')),
  'content-digest': ofBody(bendHeader('content-digest')),
  // Of another body, and right for it.
  'body with its digest': ofBody((request) => {
    const body = `${request.body} `;
    return { ...request, body, headers: { ...request.headers, 'content-digest': digestOf(body) } };
  }),
  host: (request) => ({ ...request, headers: { ...request.headers, host: 'other.test:8080' } }),
  signature: (request, next) => {
    const value = request.headers['Signature'] ?? '';
    // Inside the base64, before its padding.
    const at = 'sig1=:'.length + next(value.length - 'sig1=:'.length - 4);
    return { ...request, headers: { ...request.headers, Signature: bend(value, at) } };
  },
  'signature-input': bendHeader('Signature-Input'),
  created: (request) => withInput(request, /created=(\d+)/, (seconds) => `created=${Number(seconds) - 1}`),
  expires: (request) => withInput(request, /expires=(\d+)/, (seconds) => `expires=${Number(seconds) - 1}`),
  nonce: (request) => withInput(request, /nonce="([^"]+)"/, () => `nonce="${randomBytes(16).toString('base64url')}"`),
  keyid: (request) =>
    withInput(
      request,
      /keyid="([^"]+)"/,
      (id) => `keyid="${id === 'key_ed25519' ? 'key_hmac-sha256' : 'key_ed25519'}"`,
    ),
  components: (request) => withInput(request, /\("@method" ("@authority")/, (other) => `(${other} "@method"`),
  'header added': (request) => ({ ...request, headers: { ...request.headers, 'Idempotency-Key': 'q' } }),
  'signature of another request': (request) => ({ ...request, target: '/v1/elsewhere' }),
};

function withInput(request: Received, pattern: RegExp, change: (found: string) => string): Received {
  const input = request.headers['Signature-Input'] ?? '';
  const changed = input.replace(pattern, (_whole, found: string) => change(found));
  return { ...request, headers: { ...request.headers, 'Signature-Input': changed } };
}

test('1 000 of them with one random change are refused, each', async () => {
  const next = chance(9_530);
  const names = Object.keys(MUTATIONS);
  const passed: string[] = [];
  for (let at = 0; at < 1_000; at += 1) {
    const original = await signed(randomRequest(next), signers[next(signers.length)]);
    const name = names[at % names.length]!;
    const changed = MUTATIONS[name]!(original, next);
    expect(JSON.stringify(changed)).not.toBe(JSON.stringify(original));
    if ((await verify(changed)).kind === 'valid') passed.push(`${at} ${name} ${JSON.stringify([original, changed])}`);
  }
  expect(passed).toEqual([]);
});

describe('what is sent decides the answer', () => {
  test('no signature, and one that is meant for another recipient', async () => {
    expect(codeOf(await verify(outgoing({ body: '{}' })))).toBe('signature_missing');
    const other = await signed(undefined, ed25519, { params: { tag: 'web-bot-auth' } });
    expect(codeOf(await verify(other))).toBe('signature_missing');
    expect(codeOf(await verify(await signed(undefined, ed25519, { params: { tag: undefined } })))).toBe(
      'signature_missing',
    );
  });

  test('a signature for another recipient beside ours changes nothing, in front or behind', async () => {
    const proxy = ForeignSigner.create('proxy', 'ed25519');
    const request = outgoing({ body: '{"a":1}' });
    const params = { tag: 'proxy' };
    const behind = { ...request, headers: await ed25519.sign(request) };
    expect(codeOf(await verify({ ...behind, headers: await proxy.sign(behind, { label: 'px', params }) }))).toBe(
      'valid',
    );
    const before = { ...request, headers: await proxy.sign(request, { label: 'px', params }) };
    expect(codeOf(await verify({ ...before, headers: await ed25519.sign(before) }))).toBe('valid');
  });

  test('two signatures with our tag: refused, even when both are good, or only the last', async () => {
    const request = outgoing({ body: '{"a":1}' });
    const once = { ...request, headers: await ed25519.sign(request) };
    const twice = { ...once, headers: await ed25519.sign(once, { label: 'sig2' }) };
    expect(await verify(twice)).toMatchObject({
      code: 'signature_invalid',
      detail: expect.stringContaining('exactly one'),
    });
    const stranger = ForeignSigner.create('key_stranger', 'ed25519');
    const first = { ...request, headers: await stranger.sign(request) };
    expect(codeOf(await verify({ ...first, headers: await ed25519.sign(first, { label: 'sig2' }) }))).toBe(
      'signature_invalid',
    );
  });

  test('each missing component is named, all at once', async () => {
    const request = outgoing({ body: '{"a":1}', headers: { 'idempotency-key': 'k' } });
    for (const left of coveredBy(request)) {
      const fields = coveredBy(request).filter((name) => name !== left);
      expect(await verify(await signed(request, ed25519, { fields }))).toMatchObject({
        code: 'component_missing',
        detail: `The signature must cover "${left}" as well.`,
      });
    }
    expect(await verify(await signed(request, ed25519, { fields: ['@method'] }))).toMatchObject({
      detail:
        'The signature must cover "@authority", "@path", "@query", "authorization", "content-type", "content-digest", "idempotency-key" as well.',
    });
  });

  test('a covered header that did not arrive', async () => {
    const request = outgoing({ headers: { 'x-shop': '7' } });
    const whole = await signed(request, ed25519, { fields: [...coveredBy(request), 'x-shop'] });
    expect(codeOf(await verify(whole))).toBe('valid');
    const { 'x-shop': _gone, ...headers } = whole.headers;
    expect(await verify({ ...whole, headers })).toMatchObject({
      code: 'component_missing',
      detail: 'The signature covers "x-shop", which was not sent.',
    });
  });

  test('a digest that does not fit, of an algorithm of yesterday, or of a body that was not sent', async () => {
    const wrong = outgoing({ body: '{"a":1}', headers: { 'content-digest': digestOf('{"a":2}') } });
    expect(codeOf(await verify(await signed(wrong)))).toBe('digest_mismatch');
    for (const digest of ['md5=:Sd/dVLAcvNLSq16eXua5uQ==:', 'sha-256=1', 'sha-256=:AAAA:', 'nonsense!', 'sha-256=?1']) {
      const old = outgoing({ body: '{"a":1}', headers: { 'content-digest': digest } });
      expect([digest, codeOf(await verify(await signed(old)))]).toEqual([digest, 'digest_mismatch']);
    }
    const empty = outgoing({ headers: { 'content-digest': digestOf('x') } });
    expect(codeOf(await verify(await signed(empty)))).toBe('digest_mismatch');
    const both = `${digestOf('{"a":1}')}, sha-512=:AAAA:`;
    const half = outgoing({ body: '{"a":1}', headers: { 'content-digest': both } });
    expect(codeOf(await verify(await signed(half)))).toBe('digest_mismatch');
  });

  test('times: a minute ahead and five minutes old pass, more does not, and the answer says our time', async () => {
    const request = await signed();
    const created = Number(/created=(\d+)/.exec(request.headers['Signature-Input'] ?? '')?.[1]) * 1_000;
    const codes: string[] = [];
    for (const seconds of [-61, -60, 0, 299, 300, 3_000]) {
      codes.push(codeOf(await verify(request, new Date(created + seconds * 1_000))));
    }
    expect(codes).toEqual([
      ...['signature_expired', 'valid', 'valid', 'valid', 'signature_expired', 'signature_expired'],
    ]);
    expect(await verify(request, new Date(created + 3_000_000))).toMatchObject({
      detail: `The signature has expired. The server's time is ${new Date(created + 3_000_000).toISOString()}.`,
    });
  });

  test('a life of more than five minutes, or none', async () => {
    const now = Date.now();
    const lives = [301_000, 0, -1_000].map((ms) => ({
      created: new Date(now + 20_000),
      expires: new Date(now + 20_000 + ms),
    }));
    for (const params of lives) {
      expect(codeOf(await verify(await signed(undefined, ed25519, { params })))).toBe('signature_invalid');
    }
  });

  test('a host that is not ours, two hosts, no host, a proxy form', async () => {
    expect(codeOf(await verify(await signed(outgoing({ headers: { host: 'evil.test' } }))))).toBe('signature_invalid');
    const good = await signed(outgoing());
    for (const host of ['Gateway.TEST', 'gateway.test:443', 'gateway.test:80']) {
      expect(codeOf(await verify({ ...good, headers: { ...good.headers, host } }))).toBe('valid');
    }
    const raw = rawHeadersOf(good.headers);
    expect(codeOf(await verify(good, new Date(), [...raw, 'Host', 'evil.test']))).toBe('signature_invalid');
    expect(codeOf(await verify(good, new Date(), [...raw, 'X-Forwarded-Host', 'evil.test']))).toBe('valid');
    const { host: _host, ...headers } = good.headers;
    expect(codeOf(await verify({ ...good, headers }))).toBe('signature_invalid');
    expect(codeOf(await verify({ ...good, target: `http://gateway.test${good.target}` }))).toBe('signature_invalid');
  });

  test('a repeated Authorization header counts with all its values', async () => {
    const good = await signed(outgoing());
    const twice = [...rawHeadersOf(good.headers), 'Authorization', 'Bearer other'];
    expect(codeOf(await verify(good, new Date(), twice))).toBe('signature_invalid');
  });
});

describe('the form is read in one way only', () => {
  const bent: [string, (input: string) => string][] = [
    ['created as a string', (input) => input.replace(/created=(\d+)/, 'created="$1"')],
    ['created as a decimal', (input) => input.replace(/created=(\d+)/, 'created=$1.0')],
    ['no created', (input) => input.replace(/;created=\d+/, '')],
    ['expires as a string', (input) => input.replace(/expires=(\d+)/, 'expires="zz"')],
    ['no expires', (input) => input.replace(/;expires=\d+/, '')],
    ['a numeric nonce', (input) => input.replace(/nonce="[^"]+"/, 'nonce=1234567890')],
    ['a short nonce', (input) => input.replace(/nonce="[^"]+"/, 'nonce="123456789012345678901"')],
    ['an endless nonce', (input) => input.replace(/nonce="[^"]+"/, `nonce="${'n'.repeat(129)}"`)],
    ['no nonce', (input) => input.replace(/;nonce="[^"]+"/, '')],
    ['a numeric keyid', (input) => input.replace(/keyid="[^"]+"/, 'keyid=1')],
    ['no keyid', (input) => input.replace(/;keyid="[^"]+"/, '')],
    ['another algorithm', (input) => input.replace('alg="ed25519"', 'alg="hmac-sha256"')],
    ['an unknown algorithm', (input) => input.replace('alg="ed25519"', 'alg="none"')],
    ['an algorithm as a token', (input) => input.replace('alg="ed25519"', 'alg=ed25519')],
    ['a repeated component', (input) => input.replace('"@method"', '"@method" "@method"')],
    ['only a key of the digest', (input) => input.replace('"content-digest"', '"content-digest";key="sha-256"')],
    ['a component as bytes', (input) => input.replace('"content-type"', '"content-type";bs')],
    ['an upper-case component', (input) => input.replace('"content-type"', '"Content-Type"')],
    ['@target-uri', (input) => input.replace('"@path"', '"@path" "@target-uri"')],
    ['@status', (input) => input.replace('"@path"', '"@path" "@status"')],
    ['a component that is no string', (input) => input.replace('"@method"', '@method')],
    ['a repeated parameter', (input) => `${input};nonce="aaaaaaaaaaaaaaaaaaaaaaaa"`],
    ['a repeated label', (input) => `${input}, ${input}`],
    ['no list', () => 'sig1;tag="fgw-v1"'],
    ['broken', (input) => `${input},`],
    ['endless', (input) => `${input};x="${'x'.repeat(5_000)}"`],
    [
      'too many components',
      (input) =>
        input.replace('"@method"', `"@method" ${Array.from({ length: 40 }, (_, at) => `"x-${at}"`).join(' ')}`),
    ],
  ];

  test.each(bent)('%s', async (_name, bendInput) => {
    const good = await signed();
    expect(codeOf(await verify(good))).toBe('valid');
    const input = bendInput(good.headers['Signature-Input'] ?? '');
    expect(input).not.toBe(good.headers['Signature-Input']);
    expect(codeOf(await verify({ ...good, headers: { ...good.headers, 'Signature-Input': input } }))).toBe(
      'signature_invalid',
    );
  });

  test.each([
    ['missing', undefined],
    ['of another label', 'sig9=:AAAA:'],
    ['with parameters', 'sig1=:AAAA:;x=1'],
    ['a string', 'sig1="AAAA"'],
    ['base64 with loose ends', 'sig1=:AAB:'],
    ['repeated', 'sig1=:AAAA:, sig1=:AAAA:'],
    ['empty', ''],
  ])('a Signature that is %s', async (_name, value) => {
    const { Signature: _signature, ...headers } = (await signed()).headers;
    const bare = { ...outgoing({ body: '{"a":1}' }), headers };
    const given = value === undefined ? bare : { ...bare, headers: { ...headers, Signature: value } };
    expect(codeOf(await verify(given))).toBe('signature_invalid');
  });

  test('two lines of the same field are one list', async () => {
    const good = await signed();
    const rawHeaders = rawHeadersOf(good.headers);
    const other = ['Signature-Input', 'px=("@method");tag="proxy"', 'Signature', 'px=:AAAA:'];
    expect(codeOf(await verify(good, new Date(), [...rawHeaders, ...other]))).toBe('valid');
    expect(codeOf(await verify(good, new Date(), [...other, ...rawHeaders]))).toBe('valid');
  });
});

test('everything about the key is one answer', async () => {
  const stranger = ForeignSigner.create('key_stranger', 'ed25519');
  const unknown = await verify(await signed(undefined, stranger));
  const impostor = await verify(await signed(undefined, stranger.named('key_ed25519')));
  const hmacWithPublicKey = ForeignSigner.withSecret('key_ed25519', ed25519.publicPem);
  const confused = await verify(await signed(undefined, hmacWithPublicKey));
  const silent = await verify(await signed(undefined, hmacWithPublicKey, { params: { alg: undefined } }));
  expect([impostor, confused, silent]).toEqual([unknown, unknown, unknown]);
  expect(codeOf(unknown)).toBe('signature_invalid');
});

test('alg may be left out: the key says it', async () => {
  for (const signer of signers) {
    expect(codeOf(await verify(await signed(undefined, signer, { params: { alg: undefined } })))).toBe('valid');
  }
});

describe('a body that its handler reads', () => {
  const refuse = (detail: string): Error => new Error(detail);
  const collect = async (stream: Readable): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };

  test('must be covered all the same, with a digest that can be checked', async () => {
    const request = await signed();
    const { method, target } = request;
    const verifyUnread = (headers: Headers): Promise<SignatureVerdict> => {
      const request = signedRequest(method, target, rawHeadersOf(headers));
      return verifySignature(request, { body: 'unread', keys, publicHosts, now: new Date() });
    };
    expect(codeOf(await verifyUnread(request.headers))).toBe('valid');
    expect(codeOf(await verifyUnread((await signed(outgoing())).headers))).toBe('component_missing');
    const old = outgoing({ body: '{"a":1}', headers: { 'content-digest': 'md5=:AAAA:' } });
    expect(codeOf(await verifyUnread((await signed(old)).headers))).toBe('digest_mismatch');
  });

  test('passes as it came, and fails at its end when it was not the one that was signed', async () => {
    const parts = ['one;', 'two;', 'three'].map((part) => Buffer.from(part));
    const whole = digestOf('one;two;three');
    expect(await collect(digestChecked(Readable.from(parts), whole, refuse))).toBe('one;two;three');
    const bent = [...parts.slice(0, 2), Buffer.from('four')];
    await expect(collect(digestChecked(Readable.from(bent), whole, refuse))).rejects.toThrow('Content-Digest sha-256');
    await expect(collect(digestChecked(Readable.from([]), whole, refuse))).rejects.toThrow('Content-Digest sha-256');
    await expect(collect(digestChecked(Readable.from(parts), 'md5=:AAAA:', refuse))).rejects.toThrow('needs sha-256');
  });

  test('a broken connection is reported as such', async () => {
    const broken = new Readable({ read: () => undefined });
    const reading = collect(digestChecked(broken, digestOf('x'), refuse));
    broken.destroy(new Error('cut'));
    await expect(reading).rejects.toThrow('cut');
  });
});
