// Promise: an identity provider whose answers do not end costs that login, and no memory of the gateway.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from '#runtime';
import { IdentityProvider } from './identity-provider.js';

/** What a socket and a stream hold beyond what was read of them. */
const SENT_AT_MOST = 64 * 1024 ** 2;
const PIECE = Buffer.alloc(64 * 1024, 'x');

let server: Server;
let issuer: string;
let sent = 0;
/** Path that is answered without end. */
let endless = '';

/** More than a program with the bound can have read, and then an end: without it the test would not end either. */
function answerWithoutEnd(response: ServerResponse): void {
  response.write('{"x":"');
  const more = (): void => {
    while (sent < 2 * SENT_AT_MOST) {
      sent += PIECE.length;
      if (!response.write(PIECE)) return void response.once('drain', more);
    }
    response.end('"}');
  };
  more();
}

beforeAll(async () => {
  server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === endless) return answerWithoutEnd(response);
    const described = {
      ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
      ...{ jwks_uri: `${issuer}/keys`, response_types_supported: ['code'] },
    };
    response.end(JSON.stringify(described));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

function identityProvider(): IdentityProvider {
  const settings = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'a', OIDC_CLIENT_SECRET: 'b', OIDC_SCOPES: 'openid' };
  const addresses = { PUBLIC_URL: 'http://127.0.0.1:1', CONSOLE_URL: undefined, OIDC_STEP_UP_ACR: undefined };
  return new IdentityProvider({ ...settings, ...addresses }, createLogger('test', 'error', { write: () => undefined }));
}

const isBusy = expect.objectContaining({ code: 'service_unavailable' });

test.each<
  [string, string, (provider: IdentityProvider) => Promise<unknown>, (asked: Promise<unknown>) => Promise<void>]
>([
  [
    'its description',
    '/.well-known/openid-configuration',
    (provider) => provider.begin(false),
    (asked) => expect(asked).rejects.toEqual(isBusy),
  ],
  [
    'its tokens',
    '/token',
    (provider) =>
      provider.finish('code=a&state=s', { state: 's', nonce: 'n', verifier: 'v'.repeat(43), isStepUp: false }),
    (asked) => expect(asked).resolves.toBeNull(),
  ],
  [
    'its keys',
    '/keys',
    async (provider) => (await provider.keys()).find({ alg: 'RS256', kid: '1' }, { payload: '', signature: '' }),
    (asked) => expect(asked).rejects.toThrow(),
  ],
])('%s without end', async (_what, path, ask, judge) => {
  [sent, endless] = [0, path];
  await judge(ask(identityProvider()));
  expect([sent > 0, sent < SENT_AT_MOST]).toEqual([true, true]);
});
