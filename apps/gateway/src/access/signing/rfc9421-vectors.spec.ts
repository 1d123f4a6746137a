// Promise: what is signed is what RFC 9421 says: its own examples verify, and come out byte for byte where they can.
import { createHmac, createPrivateKey, createPublicKey, createSecretKey, sign } from 'node:crypto';
import { parseDictionary, serializeInnerList, type InnerList } from 'structured-headers';
import { checkContentDigest } from './content-digest.js';
import { readSignature } from './read-signature.js';
import { isSignatureOf, type VerifyingKey } from './signature-algorithms.js';
import { signatureBase, signedRequest, type SignedRequest } from './signed-request.js';

/** RFC 9421 appendix B.1. */
const RSA_PSS_KEY = `-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAr4tmm3r20Wd/PbqvP1s2
+QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct+Lh1GH45x28Rw3Ry53mm+
oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHq
gDsznjPFmTOtCEcN2Z1FpWgchwuYLPL+Wokqltd11nqqzi+bJ9cvSKADYdUAAN5W
Utzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw9lq4
aOT9v6d+nb4bnNkQVklLQ3fVAvJm+xdDOp9LCNCN48V2pnDOkFV6+U9nV5oyc6XI
2wIDAQAB
-----END PUBLIC KEY-----`;
const ECDSA_KEY = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqIVYZVLCrPZHGHjP17CTW0/+D9Lf
w0EkjqF7xB4FivAxzic30tMM4GF+hR6Dxh71Z50VGGdldkkDXZCnTNnoXQ==
-----END PUBLIC KEY-----`;
const ED25519_KEY = `-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=
-----END PUBLIC KEY-----`;
const ED25519_PRIVATE = { kty: 'OKP', crv: 'Ed25519', d: 'n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU' };
const ED25519_PUBLIC_PART = 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs';
const SHARED_SECRET = Buffer.from(
  'uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==',
  'base64',
);

/** Appendix B.2: the request that all examples sign. */
const DIGEST = 'sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:';
const TARGET = '/foo?param=Value&Pet=dog';
const HEADERS = [
  ...['Host', 'example.com', 'Date', 'Tue, 20 Apr 2021 02:07:55 GMT', 'Content-Type', 'application/json'],
  ...['Content-Digest', DIGEST, 'Content-Length', '18'],
];
const REQUEST = signedRequest('POST', TARGET, HEADERS);
const PROXY_CERTIFICATE =
  ':MIIBqDCCAU6gAwIBAgIBBzAKBggqhkjOPQQDAjA6MRswGQYDVQQKDBJMZXQncyBBdXRoZW50aWNhdGUxGzAZBgNVBAMMEkxBIEludGVybWVkaWF0ZSBDQTAeFw0yMDAxMTQyMjU1MzNaFw0yMTAxMjMyMjU1MzNaMA0xCzAJBgNVBAMMAkJDMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8YnXXfaUgmnMtOXU/IncWalRhebrXmckC8vdgJ1p5Be5F/3YC8OthxM4+k1M6aEAEFcGzkJiNy6J84y7uzo9M6NyMHAwCQYDVR0TBAIwADAfBgNVHSMEGDAWgBRm3WjLa38lbEYCuiCPct0ZaSED2DAOBgNVHQ8BAf8EBAMCBsAwEwYDVR0lBAwwCgYIKwYBBQUHAwIwHQYDVR0RAQH/BBMwEYEPYmRjQGV4YW1wbGUuY29tMAoGCCqGSM49BAMCA0gAMEUCIBHda/r1vaL6G3VliL4/Di6YK0Q6bMjeSkC3dFCOOB8TAiEAx/kHSB4urmiZ0NX5r5XarmPk0wmuydBVoU4hBVZ1yhk=:';
const PROXY_REQUEST = signedRequest('POST', TARGET, [
  ...['Host', 'service.internal.example', 'Client-Cert', PROXY_CERTIFICATE],
]);

interface Vector {
  request: SignedRequest;
  /** Signature-Input without its label. */
  input: string;
  /** Base64. */
  signature: string;
  key: VerifyingKey;
}

const rsaPss: VerifyingKey = { algorithm: 'rsa-pss-sha512', key: createPublicKey(RSA_PSS_KEY) };
const ecdsa: VerifyingKey = { algorithm: 'ecdsa-p256-sha256', key: createPublicKey(ECDSA_KEY) };
const ed25519: VerifyingKey = { algorithm: 'ed25519', key: createPublicKey(ED25519_KEY) };
const hmac: VerifyingKey = { algorithm: 'hmac-sha256', key: createSecretKey(SHARED_SECRET) };

const VECTORS: Readonly<Record<string, Vector>> = {
  'B.2.1': {
    request: REQUEST,
    input: '();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd"',
    signature:
      'd2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it++wgGxbtRxf8Udx7zFZsckzXaJMkA7ChG52eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2cOGdCbzR72rgFWhzx2VjBqJzsPLMIQKhO4DGezXehhWwE56YCE+O6c0mKZsfxVrogUvA4HELjVKWmAvtl6UnCh8jYzuVG5WSb/QEVPnP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9mhho8K3+7EPYTU8IU1bLhdxO5Nyt8C8ssinQ98Xw9Q==',
    key: rsaPss,
  },
  'B.2.3': {
    request: REQUEST,
    input:
      '("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-rsa-pss"',
    signature:
      'bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2voTp768ZrCUb38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQoLd7YfW91kE9o/CCoC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zbhl5ZJzSRxpJyoEZAFL2FUo5fTIztsDZKEgM4cUA==',
    key: rsaPss,
  },
  'B.2.5': {
    request: REQUEST,
    input: '("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"',
    signature: 'pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=',
    key: hmac,
  },
  'B.2.6': {
    request: REQUEST,
    input:
      '("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
    signature: 'wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==',
    key: ed25519,
  },
  'B.3': {
    request: PROXY_REQUEST,
    input: '("@path" "@query" "@method" "@authority" "client-cert");created=1618884473;keyid="test-key-ecc-p256"',
    signature: 'xVMHVpawaAC/0SbHrKRs9i8I3eOs5RtTMGCWXm/9nvZzoHsIg6Mce9315T6xoklyy0yzhD9ah4JHRwMLOgmizw==',
    key: ecdsa,
  },
};

function baseOf({ request, input }: Pick<Vector, 'request' | 'input'>): Buffer {
  const list = parseDictionary(`sig=${input}`).get('sig') as InnerList;
  const names = list[0].map(([name]) => name as string);
  const base = signatureBase(request, names, serializeInnerList(list));
  if (base.kind === 'absent') throw new Error(base.component);
  return base.bytes;
}

test.each(Object.entries(VECTORS))('%s verifies, and not with one bit changed', async (_section, vector) => {
  const base = baseOf(vector);
  const signature = Buffer.from(vector.signature, 'base64');
  expect(await isSignatureOf(vector.key, base, signature)).toBe(true);
  const bent = Buffer.from(base);
  bent.writeUInt8(bent.readUInt8(3) ^ 1, 3);
  expect(await isSignatureOf(vector.key, bent, signature)).toBe(false);
  const bentSignature = Buffer.from(signature);
  bentSignature.writeUInt8(bentSignature.readUInt8(9) ^ 1, 9);
  expect(await isSignatureOf(vector.key, base, bentSignature)).toBe(false);
  expect(await isSignatureOf(vector.key, base, signature.subarray(1))).toBe(false);
  expect(await isSignatureOf(vector.key, base, Buffer.alloc(0))).toBe(false);
});

test('B.2.5 and B.2.6 come out byte for byte', () => {
  const { 'B.2.5': b25, 'B.2.6': b26 } = VECTORS;
  expect(createHmac('sha256', SHARED_SECRET).update(baseOf(b25!)).digest('base64')).toBe(b25!.signature);
  const key = createPrivateKey({ key: { ...ED25519_PRIVATE, x: ED25519_PUBLIC_PART }, format: 'jwk' });
  expect(sign(null, baseOf(b26!), key).toString('base64')).toBe(b26!.signature);
});

test('the base of B.2.3, letter by letter', () => {
  expect(baseOf(VECTORS['B.2.3']!).toString()).toBe(
    [
      '"date": Tue, 20 Apr 2021 02:07:55 GMT',
      '"@method": POST',
      '"@path": /foo',
      '"@query": ?param=Value&Pet=dog',
      '"@authority": example.com',
      '"content-type": application/json',
      `"content-digest": ${DIGEST}`,
      '"content-length": 18',
      '"@signature-params": ("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-rsa-pss"',
    ].join('\n'),
  );
});

test('B.2.4 signs an answer: its key and bytes verify, though this gateway reads requests alone', async () => {
  const digest = 'sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:';
  const base = [
    ...['"@status": 200', '"content-type": application/json', `"content-digest": ${digest}`, '"content-length": 23'],
    '"@signature-params": ("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-ecc-p256"',
  ].join('\n');
  const signature = 'wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==';
  expect(await isSignatureOf(ecdsa, Buffer.from(base), Buffer.from(signature, 'base64'))).toBe(true);
});

test('B.2.2 covers a single query parameter: outside of the profile, refused by name', () => {
  const input = 'sig=("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;tag="fgw-v1"';
  const signed = [...HEADERS, 'Signature-Input', input, 'Signature', 'sig=:AAAA:'];
  expect(readSignature(signedRequest('POST', TARGET, signed))).toEqual({
    kind: 'malformed',
    detail: 'Component parameters are not supported: sign the whole of "@query-param".',
  });
});

test('the digest of the example fits its body, and RFC 9530 §B.1 its own', () => {
  const body = Buffer.from('{"hello": "world"}');
  expect(checkContentDigest(DIGEST, body)).toEqual({ kind: 'matches' });
  expect(checkContentDigest('sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:', body)).toEqual({
    kind: 'matches',
  });
  expect(checkContentDigest(DIGEST, Buffer.from('{"hello": "World"}'))).toMatchObject({ kind: 'differs' });
});
