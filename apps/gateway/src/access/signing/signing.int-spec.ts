// Promise: a stolen token writes nothing without the client's key, and a signed request counts once on all gateways.
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Body, Controller, Module, Post } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createFastifyNestApp } from '#http';
import { createLogger, Metrics } from '#runtime';
import { GatewayModule } from '../../gateway.module.js';
import { Scopes } from '../../http/scopes.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { ForeignSigner, type OutgoingRequest } from './testing/foreign-signer.js';
import { SigningRig, type Reply, type RigClient } from './testing/signing-rig.js';
import type { SignatureAlgorithm } from './signature-algorithms.js';
import { UsedNonces } from './used-nonces.js';

let rig: SigningRig;
beforeAll(async () => {
  rig = await SigningRig.start();
});
afterAll(() => rig.stop());

const outcome = ({ status, body }: Reply): unknown => (status < 300 ? status : [status, body?.['code']]);

/** Asks until the answer is as wanted. @returns how long that took, ms */
async function becomes(wanted: unknown, ask: () => Promise<Reply>): Promise<number> {
  const started = performance.now();
  for (;;) {
    const got = outcome(await ask());
    const tookMs = performance.now() - started;
    if (JSON.stringify(got) === JSON.stringify(wanted)) return tookMs;
    if (tookMs > 20_000) throw new Error(`still ${JSON.stringify(got)}`);
    await delay(20);
  }
}

async function clientWithKey(): Promise<{ client: RigClient; signer: ForeignSigner }> {
  const client = await rig.createClient();
  return { client, signer: await rig.signerFor(client) };
}

/** Both gateways know of the client's key. */
async function isRequired(client: RigClient): Promise<void> {
  for (const gateway of [0, 1] as const) {
    await becomes([401, 'signature_missing'], () => rig.send(rig.newBranch(client), gateway));
  }
}

/** One of three: a busy machine may be late, what waits for the cache's own five seconds is always. */
async function isMostlyWithinASecond(round: () => Promise<number>): Promise<void> {
  const tookMs = [await round(), await round(), await round()];
  expect(Math.min(...tookMs)).toBeLessThan(1_000);
}

test('nothing has to be signed before a key is there; then every write, on every gateway, within a second', async () => {
  await isMostlyWithinASecond(async () => {
    const client = await rig.createClient();
    expect(outcome(await rig.send(rig.newBranch(client)))).toBe(201);
    expect(outcome(await rig.send(rig.newBranch(client), 1))).toBe(201);
    const signer = await rig.signerFor(client);
    const tookMs = await becomes([401, 'signature_missing'], () => rig.send(rig.newBranch(client), 1));
    await isRequired(client);
    expect(outcome(await rig.send(await rig.signed(rig.newBranch(client), signer)))).toBe(201);
    expect(outcome(await rig.send(await rig.signed(rig.newBranch(client), signer), 1))).toBe(201);
    return tookMs;
  });
});

test('the refusal says how: a challenge, and what a signature must cover', async () => {
  const { client } = await clientWithKey();
  await isRequired(client);
  const { headers, body } = await rig.send(rig.newBranch(client));
  expect(headers['www-authenticate']).toBe('Signature realm="fiscal-gateway", error="signature_missing"');
  expect(headers['accept-signature']).toContain('"content-digest"');
  expect(headers['accept-signature']).toContain('tag="fgw-v1"');
  expect(body).toMatchObject({ type: '/docs/problems/signature_missing', retryable: false, errors: [] });
});

test.each<SignatureAlgorithm>(['ed25519', 'ecdsa-p256-sha256', 'rsa-pss-sha512', 'hmac-sha256'])(
  '%s: signed requests pass over HTTP, changed ones do not',
  async (algorithm) => {
    const client = await rig.createClient();
    const signer = await rig.signerFor(client, algorithm);
    await isRequired(client);
    for (let at = 0; at < 15; at += 1) {
      const request = await rig.signed(rig.newBranch(client), signer);
      const changed = [
        { ...request, body: request.body.replace('☕', '🍵') },
        { ...request, target: '/v1/branches?x=1' },
        { ...request, headers: { ...request.headers, 'idempotency-key': 'k' } },
        { ...request, headers: { ...request.headers, Signature: 'sig1=:AAAA:' } },
      ];
      expect((await rig.send(changed[at % changed.length]!)).status).toBe(401);
      // The refused one has not used the nonce up.
      expect(outcome(await rig.send(request))).toBe(201);
    }
  },
);

test('a signature counts once: not again, not on another gateway, not in parallel', async () => {
  const { client, signer } = await clientWithKey();
  await isRequired(client);
  const request = await rig.signed(rig.newBranch(client), signer);
  expect(outcome(await rig.send(request))).toBe(201);
  expect(outcome(await rig.send(request))).toEqual([401, 'nonce_replayed']);
  expect(outcome(await rig.send(request, 1))).toEqual([401, 'nonce_replayed']);
  const again = await rig.signed(rig.newBranch(client), signer);
  const replies = await Promise.all(Array.from({ length: 20 }, (_, at) => rig.send(again, (at % 2) as 0 | 1)));
  expect(replies.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1);
  expect(replies.filter(({ body }) => body?.['code'] === 'nonce_replayed')).toHaveLength(19);
});

test('a nonce belongs to its key: used once with each, refused anew with the same', async () => {
  const { client, signer } = await clientWithKey();
  const other = await clientWithKey();
  await isRequired(client);
  await isRequired(other.client);
  const params = { nonce: 'the-same-nonce-for-all-keys' };
  expect(outcome(await rig.send(await rig.signed(rig.newBranch(client), signer, { params })))).toBe(201);
  const others = await rig.signed(rig.newBranch(other.client), other.signer, { params });
  expect(outcome(await rig.send(others, 1))).toBe(201);
  const fresh = await rig.signed(rig.newBranch(client), signer, { params });
  expect(outcome(await rig.send(fresh, 1))).toEqual([401, 'nonce_replayed']);
});

test("another client's key signs nothing, its token nothing either", async () => {
  const { client, signer } = await clientWithKey();
  const other = await clientWithKey();
  await isRequired(client);
  await isRequired(other.client);
  expect(outcome(await rig.send(await rig.signed(rig.newBranch(client), other.signer)))).toEqual([
    401,
    'signature_invalid',
  ]);
  const request = await rig.signed(rig.newBranch(client), signer);
  const headers = { ...request.headers, authorization: `Bearer ${other.client.token}` };
  expect(outcome(await rig.send({ ...request, headers }))).toEqual([401, 'signature_invalid']);
});

test('two keys at the same time; a disabled one signs nothing within a second, on both gateways', () =>
  isMostlyWithinASecond(disableOneOfTwo));

/** @returns how long the disabled key went on signing at either gateway, ms */
async function disableOneOfTwo(): Promise<number> {
  const { client, signer } = await clientWithKey();
  await isRequired(client);
  const next = await rig.signed(
    rig.asked(client, { target: `/v1/clients/${client.id}/keys`, body: '{"name":"next","algorithm":"hmac-sha256"}' }),
    signer,
  );
  const { body } = await rig.send(next);
  const second = ForeignSigner.withSecret(body!['id'] as string, body!['secret'] as string);
  await becomes(201, async () => rig.send(await rig.signed(rig.newBranch(client), second), 1));
  expect(outcome(await rig.send(await rig.signed(rig.newBranch(client), signer), 1))).toBe(201);
  const target = `/v1/clients/${client.id}/keys/${signer.keyId}`;
  const disable = rig.asked(client, { method: 'DELETE', target });
  expect(outcome(await rig.send(await rig.signed(disable, second), 1))).toBe(204);
  const tookMs: number[] = [];
  for (const gateway of [0, 1] as const) {
    const refused = async (): Promise<Reply> => rig.send(await rig.signed(rig.newBranch(client), signer), gateway);
    tookMs.push(await becomes([401, 'signature_invalid'], refused));
  }
  expect(outcome(await rig.send(await rig.signed(rig.newBranch(client), second)))).toBe(201);
  return Math.max(...tookMs);
}

test('what was refused stands on the trail, once for each kind, however often it comes', async () => {
  const { client, signer } = await clientWithKey();
  await isRequired(client);
  for (let at = 0; at < 5; at += 1) await rig.send(rig.newBranch(client));
  const request = await rig.signed(rig.newBranch(client), signer);
  expect(outcome(await rig.send({ ...request, body: '{}' }))).toEqual([401, 'digest_mismatch']);
  const refusals = (await rig.fixture.audited(client.id)).filter(({ action }) => action === 'client.refuse_signature');
  const missing = {
    actor: client.id,
    before: null,
    after: { refused: 'signature_missing', route: 'POST /v1/branches' },
  };
  const digest = { ...missing, after: { refused: 'digest_mismatch', refused_before_without_record: 0 } };
  // The first kind on each of the two gateways.
  expect(refusals).toMatchObject([missing, missing, digest]);
});

describe('policies', () => {
  const read = (client: RigClient) => rig.asked(client, { method: 'GET', target: '/v1/branches' });
  const setPolicy = (client: RigClient, policy: 'auto' | 'off' | 'writes' | 'all') =>
    rig.prisma.oauthClient.update({ where: { id: client.id }, data: { signingPolicy: policy } });

  test('reading needs no signature, but one that is there must be right', async () => {
    const { client, signer } = await clientWithKey();
    await isRequired(client);
    expect(outcome(await rig.send(read(client)))).toBe(200);
    const signed = await rig.signed(read(client), signer);
    expect(outcome(await rig.send(signed))).toBe(200);
    expect(outcome(await rig.send(signed))).toEqual([401, 'nonce_replayed']);
    expect(outcome(await rig.send({ ...signed, target: '/v1/branches?limit=1' }))).toEqual([401, 'signature_invalid']);
  });

  test('all: reading too; off: nothing, whatever is sent; writes: also without any key', async () => {
    const { client, signer } = await clientWithKey();
    await isRequired(client);
    await setPolicy(client, 'all');
    await becomes([401, 'signature_missing'], () => rig.send(read(client)));
    expect(outcome(await rig.send(await rig.signed(read(client), signer)))).toBe(200);
    await setPolicy(client, 'off');
    await becomes(200, () => rig.send(read(client)));
    const wrong = await rig.signed(rig.newBranch(client), signer);
    expect(outcome(await rig.send({ ...wrong, headers: { ...wrong.headers, Signature: 'sig1=:AAAA:' } }))).toBe(201);
    const bare = await rig.createClient();
    await setPolicy(bare, 'writes');
    await becomes([401, 'signature_missing'], () => rig.send(rig.newBranch(bare)));
  });

  test('a client whose keys were all disabled by another is shut out of writing, not freed', async () => {
    const { client, signer } = await clientWithKey();
    const administrator = await rig.createClient();
    await isRequired(client);
    const target = `/v1/clients/${client.id}/keys/${signer.keyId}`;
    expect(outcome(await rig.send(rig.asked(administrator, { method: 'DELETE', target })))).toBe(204);
    await becomes([401, 'signature_invalid'], async () => rig.send(await rig.signed(rig.newBranch(client), signer)));
    expect(outcome(await rig.send(rig.newBranch(client)))).toEqual([401, 'signature_missing']);
    const mended = await rig.signerFor(client, 'ed25519', administrator);
    await becomes(201, async () => rig.send(await rig.signed(rig.newBranch(client), mended)));
  });

  test('the token comes first, then the scope, then the signature, which needs the body', async () => {
    const client = await rig.createClient(['catalog:read']);
    const signer = await rig.signerFor(client, 'ed25519', await rig.createClient(['clients:admin', 'catalog:read']));
    expect(outcome(await rig.send(await rig.signed(rig.newBranch(client), signer)))).toEqual([
      403,
      'insufficient_scope',
    ]);
    expect(outcome(await rig.send(rig.newBranch(client)))).toEqual([403, 'insufficient_scope']);
    const stolen = { ...client, token: 'fgw_at_nonsense' };
    expect(outcome(await rig.send(await rig.signed(rig.newBranch(stolen), signer)))).toEqual([401, 'invalid_token']);
  });
});

describe('a route that reads its body itself', () => {
  const received: string[] = [];

  @Controller('v1/files')
  class FilesController {
    @Post()
    @Scopes('devices:admin')
    async upload(@Body() body: Readable): Promise<object> {
      const chunks: Buffer[] = [];
      for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk);
      received.push(Buffer.concat(chunks).toString());
      return {};
    }
  }

  async function startFiles(): Promise<NestFastifyApplication> {
    const settings = rig.fixture.app.get<GatewaySettings>(SETTINGS_TOKEN);
    const logger = createLogger('gateway', 'error', { write: () => undefined });
    @Module({
      imports: [GatewayModule.create(settings, logger, new Metrics('gateway'))],
      controllers: [FilesController],
    })
    class FilesModule {}
    const app = await createFastifyNestApp(FilesModule, { logger });
    const fastify = app.getHttpAdapter().getInstance();
    fastify.addContentTypeParser('text/plain', (_request, payload, done) => done(null, payload));
    await app.listen(0, '127.0.0.1');
    return app;
  }

  test('gets what was signed to its end, and an error in place of the end of anything else', async () => {
    const app = await startFiles();
    try {
      const { client, signer } = await clientWithKey();
      const { port } = app.getHttpServer().address() as AddressInfo;
      const upload = async ({ headers, body }: OutgoingRequest): Promise<number> => {
        const reply = await rig.send(
          { method: 'POST', target: '/v1/files', headers, body },
          `http://127.0.0.1:${port}`,
        );
        return reply.status;
      };
      const file = rig.asked(client, { target: '/v1/files', body: 'a;b\n'.repeat(50_000) });
      const plain = { ...file, headers: { ...file.headers, 'content-type': 'text/plain' } };
      expect(await upload(await rig.signed(plain, signer))).toBe(201);
      expect(received).toEqual([file.body]);
      const other = await rig.signed(plain, signer);
      expect(await upload({ ...other, body: file.body.replace(/b\n$/, 'c\n') })).toBe(401);
      expect(await upload(plain)).toBe(401);
      expect(received).toHaveLength(1);
    } finally {
      await app.close();
    }
  });
});

test('nonces are forgotten when no signature can need them any more, and not before', async () => {
  const nonces = rig.second.get(UsedNonces);
  expect(await nonces.use('key_1', 'a')).toBe(true);
  expect(await nonces.use('key_1', 'a')).toBe(false);
  const [row] = await rig.prisma.$queryRaw<{ seconds: number }[]>`
    SELECT extract(epoch FROM expires_at - now())::float8 AS seconds FROM signature_nonces WHERE key_id = 'key_1'`;
  expect(row!.seconds).toBeGreaterThan(500);
  await nonces.sweep();
  expect(await nonces.use('key_1', 'a')).toBe(false);
  await rig.prisma
    .$executeRaw`UPDATE signature_nonces SET expires_at = now() - interval '1 second' WHERE key_id = 'key_1'`;
  await rig.prisma.$executeRaw`
    INSERT INTO signature_nonces SELECT 'key_1', 'n' || n, now() - interval '1 day' FROM generate_series(1, 12000) AS n`;
  await Promise.all([nonces.sweep(), nonces.sweep()]);
  await nonces.sweep();
  expect(await rig.prisma.signatureNonce.count({ where: { keyId: 'key_1' } })).toBe(0);
});

test('many nonces at once: each new one passes once', async () => {
  const nonces = rig.second.get(UsedNonces);
  const names = Array.from({ length: 1_200 }, (_, at) => `n${at % 600}`);
  const results = await Promise.all(names.map((nonce) => nonces.use('key_2', nonce)));
  expect(results.filter(Boolean)).toHaveLength(600);
  expect(await rig.prisma.signatureNonce.count({ where: { keyId: 'key_2' } })).toBe(600);
});

test('how far the clocks of signers are apart is measured, by what they signed alone', async () => {
  const { client, signer } = await clientWithKey();
  await isRequired(client);
  const drift = async (): Promise<Record<string, number>> => {
    const text = await (await fetch(`${rig.gateways[0]}/metrics`)).text();
    const counts = [...text.matchAll(/^signature_clock_drift_seconds_count\{(.*)\} (\d+)$/gm)];
    const label = (labels: string, name: string): string => new RegExp(`${name}="(\\w+)"`).exec(labels)?.[1] ?? '';
    return Object.fromEntries(
      counts.map(([, labels = '', count]) => [
        `${label(labels, 'direction')} ${label(labels, 'verdict')}`,
        Number(count),
      ]),
    );
  };
  const at = async (offsetS: number, key = signer): Promise<void> => {
    const created = new Date(Date.now() + offsetS * 1_000);
    const expires = new Date(created.getTime() + 300_000);
    const request = await rig.signed(rig.newBranch(client), key, { params: { created, expires } });
    await rig.send(request);
  };
  const before = await drift();
  await at(-20);
  await at(30);
  await at(-400);
  await at(200);
  await at(-400, ForeignSigner.create(signer.keyId, 'ed25519'));
  const after = await drift();
  const grown = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)]);
  expect(Object.fromEntries(grown)).toEqual({
    ...{ 'behind accepted': 1, 'ahead accepted': 1, 'behind refused': 1, 'ahead refused': 1 },
  });
});
