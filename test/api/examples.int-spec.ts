// Promise: each example of the description is what its schema says, and each example of a request is one that a gateway reads.
import { ApiWorld, type ApiAnswer } from './api-world.js';
import { apiDescription, type Endpoint, type Media, type Schema } from './api-document.js';
import { shapeFaults } from './example-shape.js';

let world: ApiWorld;

beforeAll(async () => {
  world = await ApiWorld.start({ CONSOLE_URL: `${ORIGIN}/console` });
});
afterAll(() => world?.stop());

const ORIGIN = 'https://console.test';

const isJson = (type: string): boolean => /json$/.test(type);
const isForm = (type: string): boolean => /urlencoded$/.test(type);

test('every request and every answer that is JSON, and every form, has an example, and it is as described', () => {
  const judge = apiDescription();
  const faults: string[] = [];
  const check = (at: string[], content: Record<string, Media> | undefined): void => {
    for (const [type, media] of Object.entries(content ?? {})) {
      if (!(isJson(type) || isForm(type)) || !media.schema) continue;
      const fault = judge.faultOfExample([...at, 'content', type], media);
      if (fault !== null) faults.push(`${at.join(' ')}: ${fault}`);
    }
  };
  for (const [name, { content }] of judge.sharedAnswers()) check(['components', 'responses', name], content);
  for (const { method, path, operation } of judge.endpoints()) {
    const at = ['paths', path, method.toLowerCase()];
    check([...at, 'requestBody'], operation.requestBody?.content);
    for (const [status, answer] of Object.entries(operation.responses))
      check([...at, 'responses', status], answer.content);
  }
  expect(faults).toEqual([]);
});

/** What says that a body was not understood, as against what it asks for not being possible at this moment. */
const NOT_UNDERSTOOD = new Set(['malformed_request', 'malformed_json', 'unsupported_media_type', 'payload_too_large']);
const BAD_SHAPE = new Set([
  'invalid_type',
  'unknown_field',
  'required',
  'invalid_format',
  'out_of_range',
  'too_long',
  'invalid_text',
]);

/** What an answer's example shows otherwise than this answer; `null` where there is nothing to compare. */
function shownOtherwise({ operation }: Endpoint, { status, text }: ApiAnswer): string[] | null {
  const judge = apiDescription();
  const media = operation.responses[String(status)]?.content?.['application/json'];
  if (status >= 300 || !media?.schema || media.example === undefined || text === '') return null;
  const place = { schema: media.schema, resolve: (schema: Schema) => judge.resolve(schema), at: '' };
  return shapeFaults(media.example, JSON.parse(text), place);
}

/** As a client writes it. */
function written(type: string, example: unknown): string {
  if (isJson(type)) return JSON.stringify(example);
  return typeof example === 'string' ? example : new URLSearchParams(example as Record<string, string>).toString();
}

test('each example of a request is read by a gateway that runs, and answered as described', async () => {
  const [faults, otherwise]: [string[], string[]] = [[], []];
  let done = 0;
  let compared = 0;
  const examples = world.endpoints().flatMap((endpoint): { endpoint: Endpoint; type: string; example: unknown }[] => {
    const given = Object.entries(endpoint.operation.requestBody?.content ?? {});
    return given.flatMap(([type, { example }]) => (example === undefined ? [] : [{ endpoint, type, example }]));
  });
  for (const { endpoint, type, example } of examples) {
    const path = world.pathOf(endpoint, 'own');
    // Public ones prove themselves in their own way, or are for pages of the console.
    const token = endpoint.scopes === null ? {} : { token: world.allScopes };
    const headers = { 'content-type': type, origin: ORIGIN, 'fgw-console': '1' };
    // `send` holds the answer against the description.
    const answer = await world.send(endpoint.method, path, { ...token, headers, raw: written(type, example) });
    const isRead = answer.headers.get('content-type')?.includes('json') === true;
    const { errors = [] } = JSON.parse(isRead ? answer.text : '{}') as {
      errors?: { code: string; pointer: string }[];
    };
    // A form that is sent empty, as the buyer's page has it, is answered with what it lacks.
    const isBlank = !isJson(type) && Object.keys(Object(example)).length === 0;
    const bad = isBlank ? [] : errors.filter(({ code }) => BAD_SHAPE.has(code));
    if (answer.status < 300) done += 1;
    const shown = shownOtherwise(endpoint, answer);
    if (shown !== null) compared += 1;
    otherwise.push(...(shown ?? []).map((fault) => `${endpoint.method} ${endpoint.path} ${answer.status} ${fault}`));
    if (answer.status >= 500 || NOT_UNDERSTOOD.has(answer.code ?? '') || bad.length > 0)
      faults.push(`${endpoint.method} ${path} ${answer.status} ${answer.code} ${JSON.stringify(bad)}`);
  }
  expect(faults).toEqual([]);
  expect(otherwise).toEqual([]);
  expect(compared).toBeGreaterThan(15);
  expect(examples.length).toBeGreaterThan(60);
  // The others ask for what this merchant has not: a register that answers, a sync that is open …
  expect(done).toBeGreaterThan(examples.length / 3);
});

test('each example of an answer to a question is of the shape that a running gateway answers', async () => {
  const otherwise: string[] = [];
  let compared = 0;
  for (const endpoint of world.endpoints()) {
    // Files of the console's build are no answers of the API.
    if (endpoint.method !== 'GET' || !endpoint.path.startsWith('/v1/')) continue;
    // Asks the register, and no relay runs here.
    if (endpoint.path === '/v1/devices/{id}/shift') continue;
    const token = endpoint.scopes === null ? {} : { token: world.allScopes };
    const answer = await world.send('GET', world.pathOf(endpoint, 'own'), token);
    const shown = shownOtherwise(endpoint, answer);
    if (shown === null) continue;
    compared += 1;
    otherwise.push(...shown.map((fault) => `GET ${endpoint.path} ${fault}`));
  }
  expect(otherwise).toEqual([]);
  expect(compared).toBeGreaterThan(40);
});
