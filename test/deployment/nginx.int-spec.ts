// Promise: the proxy of ops/nginx.conf, as it stands there, hands on one true address, passes no caller without mTLS, ends slow callers, and logs no token of a link.
import 'reflect-metadata';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { parseCidr } from '#outgoing';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { OauthGateway } from '../../apps/gateway/src/access/oauth/testing/oauth-gateway.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const CONFIGURATION = join(import.meta.dirname, '..', '..', 'ops', 'nginx.conf');
const CALLER = '127.0.0.5';
const CLAIMED = '203.0.113.9';
const isInstalled = spawnSync('nginx', ['-v']).status === 0;

interface Answer {
  status: number;
  text: string;
  type: string;
}

interface Question {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  client?: 'known' | 'stranger';
}

/** Everything that openssl and nginx write; certificates of a CA of our own. */
class Workshop {
  readonly folder = mkdtempSync(join(tmpdir(), 'nginx-'));

  constructor() {
    const newKey = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    for (const name of ['ca', 'stranger', 'server']) {
      this.openssl(...newKey, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.crt`);
    }
    const pair = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    this.openssl('req', ...pair, '-subj', '/CN=known', '-keyout', 'known.key', '-out', 'known.csr');
    const signed = ['-in', 'known.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'];
    this.openssl('x509', '-req', ...signed, '-days', '2', '-out', 'known.crt');
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  read(name: string): Buffer {
    return readFileSync(this.file(name));
  }

  private openssl(...args: string[]): void {
    execFileSync('openssl', args, { cwd: this.folder, stdio: 'ignore' });
  }
}

/** nginx with the example's text: only its ports, files and patience are other ones. */
class Proxy {
  private constructor(
    private readonly workshop: Workshop,
    private readonly process: ChildProcess,
    readonly port: number,
    private readonly logFile: string,
  ) {}

  static async start(
    workshop: Workshop,
    upstream: { gateway: number; relay: number },
    { mtls = false } = {},
  ): Promise<Proxy> {
    const port = await freePorts(1);
    const folder = workshop.file(`nginx-${String(port)}`);
    const log = join(folder, 'access.log');
    mkdirSync(folder);
    const text = replaced(readFileSync(CONFIGURATION, 'utf8'), [
      ['127.0.0.1:8080', `127.0.0.1:${String(upstream.gateway)}`],
      ['127.0.0.1:8081', `127.0.0.1:${String(upstream.relay)}`],
      ['listen 443 ssl http2', `listen 127.0.0.1:${String(port)} ssl http2`],
      ['/etc/nginx/tls/gateway.crt', workshop.file('server.crt')],
      ['/etc/nginx/tls/gateway.key', workshop.file('server.key')],
      ['/var/log/nginx/fiscal-gateway.log', log],
      ['client_header_timeout 10s', 'client_header_timeout 1s'],
      ['client_body_timeout 30s', 'client_body_timeout 1s'],
      ...(mtls
        ? ([
            [
              '# ssl_client_certificate /etc/nginx/tls/clients-ca.crt',
              `ssl_client_certificate ${workshop.file('ca.crt')}`,
            ],
            ['# ssl_verify_client on', 'ssl_verify_client on'],
          ] as [string, string][])
        : []),
    ]);
    const bodies = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`);
    const main = `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log; events {}\n`;
    writeFileSync(join(folder, 'nginx.conf'), `${main}http { access_log ${log}; ${bodies.join(' ')}\n${text}\n}\n`);
    const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], {
      stdio: 'ignore',
    });
    const proxy = new Proxy(workshop, child, port, log);
    await until(
      'nginx answers',
      () => {
        if (child.exitCode !== null) throw new Error(readFileSync(join(folder, 'error.log'), 'utf8'));
        return proxy.ask('/metrics').then(
          ({ status }) => status > 0,
          () => false,
        );
      },
      Boolean,
    );
    return proxy;
  }

  async stop(): Promise<void> {
    if (this.process.exitCode !== null) return;
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGTERM');
    await ended;
  }

  log(): string {
    return readFileSync(this.logFile, 'utf8');
  }

  ask(path: string, { method = 'GET', headers = {}, body = '', client }: Question = {}): Promise<Answer> {
    const certificate = client && {
      cert: this.workshop.read(`${client}.crt`),
      key: this.workshop.read(`${client}.key`),
    };
    const tls = { ca: this.workshop.read('server.crt'), checkServerIdentity: () => undefined, ...certificate };
    const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = { port: this.port, path, method, localAddress: CALLER, agent: false, ...tls };
    return new Promise((resolve, reject) => {
      const call = httpsRequest({ ...options, host: '127.0.0.1', headers: { ...length, ...headers } }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('error', reject).on('end', () => {
          resolve({ status: response.statusCode ?? 0, text, type: response.headers['content-type'] ?? '' });
        });
      });
      call.on('error', reject).end(body);
    });
  }

  /** Sends these bytes and no more. @returns what came until the proxy ended the connection */
  async trickle(bytes: string): Promise<string> {
    const socket = connectTls({ port: this.port, host: '127.0.0.1', rejectUnauthorized: false });
    socket.on('error', () => undefined); // ended by the other side is what is waited for
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.on('secureConnect', () => socket.write(bytes));
    await new Promise((resolve) => socket.once('close', resolve));
    return text;
  }
}

function replaced(text: string, pairs: readonly (readonly [string, string])[]): string {
  return pairs.reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`ops/nginx.conf has no ${JSON.stringify(from)} any more`);
    return before.replace(from, to);
  }, text);
}

/** Answers with the headers that reached it. */
async function startEcho(): Promise<{ server: Server; port: number; close: () => Promise<void> }> {
  const server = createServer((request, response) => void response.end(JSON.stringify(request.headers)));
  server.on('upgrade', (request, socket) => {
    socket.end(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: ${request.headers.upgrade ?? ''}\r\n\r\n`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  return { server, port: (server.address() as AddressInfo).port, close };
}

(isInstalled ? describe : describe.skip)('ops/nginx.conf (needs an installed nginx)', () => {
  let database: TestDatabase;
  let gateway: OauthGateway;
  let echo: Awaited<ReturnType<typeof startEcho>>;
  let workshop: Workshop;
  const proxies: Proxy[] = [];
  let proxy: Proxy;
  let echoing: Proxy;
  let locked: Proxy;

  beforeAll(async () => {
    database = await createTestDatabase();
    const trusted = parseCidr('127.0.0.1/32');
    if (trusted.kind === 'invalid') throw new Error(trusted.reason);
    gateway = await OauthGateway.start(database, { trusted: [trusted.cidr], publicUrl: 'https://gateway.example.uz' });
    echo = await startEcho();
    workshop = new Workshop();
    const ports = { gateway: Number(new URL(gateway.url).port), relay: echo.port };
    const start = async (...args: [ports: typeof ports, more?: { mtls: boolean }]): Promise<Proxy> => {
      const started = await Proxy.start(workshop, ...args);
      proxies.push(started);
      return started;
    };
    proxy = await start(ports);
    echoing = await start({ gateway: echo.port, relay: echo.port });
    locked = await start(ports, { mtls: true });
  });
  afterAll(async () => {
    for (const each of proxies) await each.stop();
    await echo?.close();
    await gateway?.stop();
    await database?.drop();
    if (workshop) rmSync(workshop.folder, { recursive: true, force: true });
  });

  const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

  test('the caller’s address is the one that the proxy saw, whatever headers say', async () => {
    const merchantId = await gateway.createMerchant();
    const spoofed = { 'x-forwarded-for': CLAIMED, forwarded: `for=${CLAIMED}`, 'x-real-ip': CLAIMED };
    const statusOf = async (cidr: string, more: Record<string, string> = {}): Promise<number> => {
      const { token } = await gateway.createClient(merchantId, { allowedCidrs: [cidr] });
      return (await proxy.ask('/v1/mine', { headers: { ...bearer(token), ...more } })).status;
    };
    expect(await statusOf(`${CALLER}/32`)).toBe(200);
    expect(await statusOf(`${CALLER}/32`, spoofed)).toBe(200);
    expect(await statusOf(`${CLAIMED}/32`, spoofed)).toBe(403);
    expect(await statusOf('127.0.0.1/32', spoofed)).toBe(403);
    const { id, secret } = await gateway.createClient(merchantId, { allowedCidrs: [`${CLAIMED}/32`] });
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret });
    const form = { 'content-type': 'application/x-www-form-urlencoded', ...spoofed };
    expect(await proxy.ask('/oauth/token', { method: 'POST', body: body.toString(), headers: form })).toMatchObject({
      status: 403,
    });
  });

  test('what reaches the programs: host and one address, nothing that the caller says of itself', async () => {
    const headers = {
      ...{ host: 'gateway.example.uz:8443', 'x-forwarded-for': `${CLAIMED}, ${CLAIMED}`, forwarded: 'for=x' },
      ...{ 'x-forwarded-host': 'evil.test', 'x-forwarded-proto': 'http', upgrade: 'websocket', connection: 'upgrade' },
    };
    for (const path of ['/v1/receipts', '/oauth/token']) {
      const seen = JSON.parse((await echoing.ask(path, { headers })).text) as Record<string, string>;
      expect(seen).toMatchObject({
        ...{ host: 'gateway.example.uz:8443', 'x-forwarded-for': CALLER, 'x-forwarded-proto': 'https' },
      });
      expect(Object.keys(seen).filter((name) => /^(forwarded|x-forwarded-host|upgrade)$/.test(name))).toEqual([]);
    }
  });

  test('a link changes its protocol, nothing else does; probes stay inside', async () => {
    const hello = (path: string): string =>
      `GET ${path} HTTP/1.1\r\nHost: g\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`;
    expect(await echoing.trickle(hello('/link'))).toMatch(/^HTTP\/1\.1 101 /);
    expect((await proxy.ask('/metrics')).status).toBe(404);
    expect((await proxy.ask('/readyz')).status).toBe(404);
  });

  test('the log names what was asked for, and no token of a link, however it is written', async () => {
    const token = '01kz0123456789abcdefghjkmn.0123456789abcdefghjkmnpqrs';
    const paths = [
      ...[`/r/${token}`, `/R/${token}?lang=uz`, `/%72/${token}`, `//r/./${token}/messages`, `/v1/../r/${token}`],
      ...[`/m/${token}`, `/u/${token}`, `/u/${encodeURIComponent(token).replace('.', '%2e')}`],
      ...[`/auth/oidc/callback?state=x&code=${token}`, `/AUTH/oidc/callback/?code=${token}`],
    ];
    for (const path of paths)
      await echoing.ask(path, { headers: { referer: `https://gateway.example.uz/r/${token}` } });
    await echoing.ask('/v1/receipts/rcp_1/timeline?limit=5');
    const log = await until(
      'the last line is written',
      () => echoing.log(),
      (text) => text.includes('/v1/receipts/rcp_1/timeline'),
    );
    expect(log).not.toMatch(/0123456789abcdefghjkmn/i);
    const asked = log.split('\n').flatMap((line) => /"GET (\S+) HTTP\/1\.1" 200 /.exec(line)?.[1] ?? []);
    expect(asked.slice(-paths.length - 1)).toEqual([
      ...['/r/-', '/R/-', '/r/-', '/r/-', '/r/-', '/m/-', '/u/-', '/u/-'],
      ...['/auth/oidc/callback', '/AUTH/oidc/callback/', '/v1/receipts/rcp_1/timeline'],
    ]);
  });

  test('problem documents of the gateway reach the caller', async () => {
    expect(await proxy.ask('/v1/mine')).toMatchObject({ status: 401, type: 'application/problem+json; charset=utf-8' });
    const big = (path: string): string => `POST ${path} HTTP/1.1\r\nHost: g\r\nContent-Length: 6000000\r\n\r\n`;
    expect(await proxy.trickle(big('/v1/receipts'))).toMatch(/^HTTP\/1\.1 413 /);
    // Files of goods may be large: the gateway's own word.
    expect(await proxy.trickle(big('/v1/catalog/imports'))).toMatch(/^HTTP\/1\.1 404 .*problem\+json/s);
  });

  test('mTLS: without a certificate of ours no request reaches the gateway; with one the token still decides', async () => {
    const { token } = await gateway.createClient(await gateway.createMerchant());
    const headers = bearer(token);
    for (const client of [undefined, 'stranger'] as const) {
      const { status, type } = await locked.ask('/v1/mine', { headers, ...(client && { client }) });
      expect([client, status, type]).toEqual([client, 400, expect.stringMatching(/^text\/html/)]);
    }
    expect((await locked.ask('/v1/mine', { headers, client: 'known' })).status).toBe(200);
    expect((await locked.ask('/v1/mine', { client: 'known' })).status).toBe(401);
  });

  test('slow callers are ended, in the head and in the body', async () => {
    expect(await proxy.trickle('POST /v1/mine HTTP/1.1\r\nHost: gateway.example.uz\r\nX-Slow: ')).toBe('');
    const head = 'POST /oauth/token HTTP/1.1\r\nHost: gateway.example.uz\r\nContent-Length: 100\r\n';
    const form = 'Content-Type: application/x-www-form-urlencoded\r\n\r\ngrant_type=';
    expect(await proxy.trickle(head + form)).not.toMatch(/^HTTP\/1\.1 2/);
    expect((await proxy.ask('/.well-known/oauth-authorization-server')).status).toBe(200);
  });
});
