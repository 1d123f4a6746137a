import { BodySchemas } from './body-schemas.mjs';
import { exampleAnswer } from './example-answers.mjs';
import { exampleBody, withoutVariables } from './example-bodies.mjs';
import { exploreRoutes } from './explore.mjs';
import { readPackage, readProblemCodes, readScopes } from './facts.mjs';
import { SUMMARIES, TAGS } from './operation-words.mjs';
import { errorAnswers, HEADERS, PROBLEM_RESPONSES, problemSchemas } from './problem-answers.mjs';
import { resolverOf } from './references.mjs';
import { readTypeBook } from './type-book.mjs';

/** @typedef {import('./type-schemas.mjs').Schema} Schema */
/** @typedef {import('./explore.mjs').Route} Route */

const DESCRIPTION = `Sales become fiscal receipts. Every path below \`/v1\` needs an access token (\`POST /oauth/token\`, client
credentials) with the scopes named at it. Money is integer tiyin, times are RFC 3339 in UTC. Refusals are RFC 9457
problem documents; \`code\` is stable, \`detail\` is for people (docs/errors.md). Lists answer \`{data, next_cursor}\`.
Ids of others answer like missing ones: 404.`;
const BEARER = 'oauth2';
const SESSION = 'session';
const SESSION_SCHEME = {
  type: 'apiKey',
  in: 'cookie',
  name: '__Host-fgw_session',
  description:
    "The session of a person who has logged in (docs/users.md). What changes something also needs the console's own Origin and " +
    'the header `Fgw-Console: 1`; `Fgw-Merchant` names the merchant.',
};
const OWN_PROOF = 'ownProof';
const OWN_PROOF_SCHEME = {
  type: 'apiKey',
  in: 'header',
  name: 'Authorization',
  description: 'The request proves by itself who sends it: client credentials, or the signature of a payment provider.',
};
const STATUS_TEXT = /** @type {Record<string, string>} */ ({
  200: 'Done; also what a replay of a finished request answers.',
  201: 'Made.',
  202: 'Taken, not finished yet: Location says where the result will be.',
  204: 'Done, nothing to say.',
  503: 'Not ready.',
});

/**
 * The description of the gateway's API (OpenAPI 3.1), derived from the code alone.
 * @returns {Promise<Schema>}
 */
export async function describeApi() {
  const [routes, codes, scopes] = [await exploreRoutes(), await readProblemCodes(), await readScopes()];
  const book = readTypeBook();
  const bodies = new BodySchemas(book);
  const writer = new OperationWriter(book, bodies);
  /** @type {Record<string, Schema>} */
  const paths = {};
  for (const route of routes) {
    const item = (paths[route.path] ??= {});
    item[route.method] = writer.operation(route);
  }
  refuseStaleWords(routes);
  const { version, license } = readPackage();
  const description = {
    openapi: '3.1.0',
    info: {
      title: 'Fiscal receipt gateway',
      version,
      description: DESCRIPTION,
      license: { name: license, identifier: license },
      contact: { name: 'Operator of this gateway', url: 'https://gateway.example' },
    },
    servers: [
      { url: 'https://gateway.example', description: 'This gateway (PUBLIC_URL), production', 'x-internal': false },
    ],
    security: [{ [BEARER]: [] }],
    tags: writer.tags(),
    paths,
    components: {
      securitySchemes: {
        [BEARER]: oauthScheme(scopes),
        [SESSION]: SESSION_SCHEME,
        [OWN_PROOF]: OWN_PROOF_SCHEME,
      },
      headers: HEADERS,
      responses: PROBLEM_RESPONSES,
      schemas: sorted({ ...problemSchemas(codes), ...book.schemas, ...bodies.components }),
    },
  };
  addExamples(description);
  return description;
}

/**
 * An example for every request and every answer that is JSON. `test/api/examples.int-spec.ts` holds each against its schema, and sends the
 * requests to a gateway that runs.
 * @param {Schema} description
 */
function addExamples(description) {
  const resolve = resolverOf(description);
  const refusals = /** @type {Record<string, Schema>} */ (Object(description['components'])['responses']);
  for (const answer of Object.values(refusals)) addAnswers(answer, resolve);
  for (const item of Object.values(/** @type {Record<string, Record<string, Schema>>} */ (description['paths']))) {
    for (const operation of Object.values(item)) {
      const content = /** @type {Record<string, Schema>} */ (Object(operation['requestBody'])['content'] ?? {});
      for (const [type, media] of Object.entries(content)) {
        if (/json$|urlencoded$/.test(type))
          media['example'] = withoutVariables(exampleBody(String(operation['operationId']), media, resolve));
      }
      const answers = /** @type {Record<string, Schema>} */ (operation['responses']);
      for (const answer of Object.values(answers)) addAnswers(answer, resolve);
    }
  }
}

/** @param {Schema} answer @param {(schema: Schema) => Schema} resolve */
function addAnswers(answer, resolve) {
  for (const [type, media] of Object.entries(/** @type {Record<string, Schema>} */ (answer['content'] ?? {}))) {
    if (/json$/.test(type) && media['schema']) media['example'] = exampleAnswer(media['schema'], resolve);
  }
}

/** @param {readonly Route[]} routes */
function refuseStaleWords(routes) {
  const names = new Set(routes.map(nameOf));
  const stale = Object.keys(SUMMARIES).filter((name) => !names.has(name));
  if (stale.length > 0) throw new Error(`operation-words.mjs: there is no ${stale.join(', ')}`);
}

/** @param {Route} route */
function nameOf(route) {
  return `${route.method.toUpperCase()} ${route.path}`;
}

class OperationWriter {
  /** @type {Set<string>} */
  #tags = new Set();

  /**
   * @param {import('./type-book.mjs').TypeBook} book
   * @param {BodySchemas} bodies
   */
  constructor(book, bodies) {
    this.book = book;
    this.bodies = bodies;
  }

  tags() {
    return Object.entries(TAGS)
      .filter(([name]) => this.#tags.has(name))
      .map(([name, description]) => ({ name, description }));
  }

  /** @param {Route} route @returns {Schema} */
  operation(route) {
    const tag = tagOf(route.path);
    const controller = this.book.controllers[route.controller];
    if (!controller) throw new Error(`the sources have no ${route.controller}`);
    const summary = SUMMARIES[nameOf(route)];
    if (!summary || !TAGS[tag]) throw new Error(`operation-words.mjs: say what ${nameOf(route)} (${tag}) does`);
    this.#tags.add(tag);
    const comment = controller.handlers[route.handler]?.summary ?? '';
    return {
      operationId: `${camel(route.controller.replace(/Controller$/, ''))}_${route.handler}`,
      tags: [tag],
      summary,
      description: comment || `${summary}.`,
      parameters: this.#parameters(route),
      ...this.#requestBody(route),
      responses: { ...this.#ownAnswers(route), ...errorAnswers(route) },
      security: securityOf(route),
      ...(route.overMerchants ? { 'x-over-merchants': true } : {}),
    };
  }

  /** @param {Route} route */
  #parameters(route) {
    const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      ...{ name, in: 'path', required: true, description: 'An id, or a code where the description says so.' },
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: String.raw`^[^\u0000-\u001F/]+$` },
    }));
    const inQuery = route.query ? this.bodies.queryOf(route.query) : [];
    const isCreate = route.method === 'post' && CREATES.has(route.path);
    const isStream = route.answers?.mediaTypes?.includes('text/event-stream') === true;
    return [...inPath, ...inQuery, ...(isCreate ? CREATE_HEADERS : []), ...(isStream ? STREAM_HEADERS : [])];
  }

  /** @param {Route} route @returns {Schema} */
  #requestBody(route) {
    if (route.takesForm) {
      const schema = route.path.startsWith('/oauth/')
        ? { $ref: '#/components/schemas/OauthForm' }
        : (FORMS[route.path] ?? ONE_CLICK_FORM);
      return { requestBody: { required: true, content: { 'application/x-www-form-urlencoded': { schema } } } };
    }
    if (route.body) {
      const schema = this.bodies.referenceTo(route.body);
      return { requestBody: { required: !route.mayLackBody, content: { 'application/json': { schema } } } };
    }
    if (route.takesFile) return { requestBody: { required: true, content: { '*/*': { schema: ANY_BYTES } } } };
    const schema = { type: 'object', maxProperties: 1_000, additionalProperties: true };
    return route.takesBody ? { requestBody: { required: false, content: { 'application/json': { schema } } } } : {};
  }

  /** @param {Route} route @returns {Record<string, Schema>} */
  #ownAnswers(route) {
    const answer = this.book.controllers[route.controller]?.handlers[route.handler]?.answer ?? null;
    const statuses = route.answers?.statuses ?? statusesOf(route);
    const mediaTypes = route.answers?.mediaTypes ?? [route.contentType ?? 'application/json'];
    const headers = {
      'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
      RateLimit: { $ref: '#/components/headers/RateLimit' },
      'Access-Control-Allow-Origin': { $ref: '#/components/headers/Access-Control-Allow-Origin' },
    };
    return Object.fromEntries(
      statuses.map((status) => {
        const isEmpty = status === 204 || (answer === null && !route.setsStatusItself);
        const content = Object.fromEntries(mediaTypes.map((type) => [type, contentOf(answer, type)]));
        const more = status === 201 || status === 202 ? { Location: { $ref: '#/components/headers/Location' } } : {};
        const description = STATUS_TEXT[status] ?? 'The answer.';
        return [String(status), { description, headers: { ...headers, ...more }, ...(isEmpty ? {} : { content }) }];
      }),
    );
  }
}

/** A handler that sets its status itself may do so among these, unless it says more (`@Answers`). @param {Route} route */
function statusesOf({ status, setsStatusItself }) {
  return setsStatusItself ? [...new Set([200, 202, status])].sort() : [status];
}

/** @param {Schema | null} answer @param {string} mediaType @returns {Schema} */
function contentOf(answer, mediaType) {
  const isJson = /json$/.test(mediaType);
  // A handler without a type that writes by itself, or a stream: bytes, of which nothing more is known here.
  if (answer === null || 'x-bytes' in answer) return isJson ? {} : { schema: ANY_BYTES };
  // JSON that is written as a text is of any shape.
  return isJson && answer['type'] === 'string' ? {} : { schema: answer };
}

/** What a mail program sends for its reader (RFC 8058). */
const ONE_CLICK_FORM = {
  type: 'object',
  properties: { 'List-Unsubscribe': { type: 'string', maxLength: 100 } },
  maxProperties: 10,
  additionalProperties: { type: 'string', maxLength: 1_000 },
};

const FORMS = /** @type {Readonly<Record<string, Schema>>} */ ({
  '/r/{receipt}/messages': {
    type: 'object',
    required: ['to'],
    properties: {
      channel: { type: 'string', enum: ['email', 'sms'], description: 'Left out, or anything else: email.' },
      to: { type: 'string', maxLength: 1_000, description: 'An e-mail address, or a phone number of Uzbekistan.' },
    },
    maxProperties: 10,
    additionalProperties: { type: 'string', maxLength: 1_000 },
  },
  // A page's button: what the form holds is not read.
  '/r/{receipt}/stop': {
    type: 'object',
    maxProperties: 10,
    additionalProperties: { type: 'string', maxLength: 1_000 },
  },
  '/auth/oidc/backchannel-logout': {
    type: 'object',
    required: ['logout_token'],
    properties: {
      logout_token: {
        type: 'string',
        maxLength: 16_384,
        description: 'A signed JWT (OpenID Connect Back-Channel Logout 1.0).',
      },
    },
    maxProperties: 10,
    additionalProperties: { type: 'string', maxLength: 1_000 },
  },
});

/** A file or a page, of which no more is known here. */
const ANY_BYTES = { type: 'string', maxLength: 1_073_741_824 };

/** Calls that make a receipt: the controllers that read these headers. */
const CREATES = new Set(['/v1/receipts', '/v1/receipts/{id}/refunds', '/v1/payments']);

const CREATE_HEADERS = [
  {
    ...{ name: 'Idempotency-Key', in: 'header', required: false },
    description: 'The same key and body answer with what the first request made. Kept for the life of the receipt.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: String.raw`^[\x20-\x7E]+$` },
  },
  {
    ...{ name: 'Prefer', in: 'header', required: false },
    description:
      '`wait=N`: seconds to wait for the register, 60 at most, 10 without this header; `respond-async`: none.',
    schema: { type: 'string', maxLength: 255, pattern: String.raw`^[\x20-\x7E]*$` },
  },
];

const STREAM_HEADERS = [
  {
    ...{ name: 'Last-Event-ID', in: 'header', required: false },
    description: 'The `id` of the last frame that came: the stream goes on behind it. Browsers send it by themselves.',
    schema: { type: 'string', maxLength: 100, pattern: String.raw`^[\x21-\x7E]+$` },
  },
];

/** @param {Route} route */
function securityOf({ scopes, forPeople, method }) {
  if (scopes !== null && forPeople) return [{ [SESSION]: scopes }];
  if (scopes !== null) return [{ [BEARER]: scopes }, { [SESSION]: scopes }];
  return method === 'get' ? [] : [{ [OWN_PROOF]: [] }];
}

/** @param {string[]} scopes */
function oauthScheme(scopes) {
  return {
    type: 'oauth2',
    description:
      'Client credentials (RFC 6749 §4.4). Send the token in the Authorization header only. Tokens are opaque and live for ' +
      '15 minutes; the JWTs by which clients prove themselves (RFC 7523) are judged as RFC8725 asks.',
    flows: {
      clientCredentials: {
        tokenUrl: 'https://gateway.example/oauth/token',
        // There are no refresh tokens: a new token is asked for in the same way.
        refreshUrl: 'https://gateway.example/oauth/token',
        scopes: Object.fromEntries(scopes.map((scope) => [scope, wordsOf(scope.replace(':', '_'))])),
      },
    },
  };
}

/** Routes about the person who calls. */
const TAG_OF_PEOPLE = /** @type {Readonly<Record<string, string>>} */ ({
  me: 'people',
  session: 'people',
  sessions: 'people',
});

/** @param {string} path */
function tagOf(path) {
  const [first = '', second] = path.split('/').slice(1);
  if (first === 'v1') return TAG_OF_PEOPLE[second ?? ''] ?? second ?? 'v1';
  if (first === 'auth') return 'people';
  return first === 'oauth' || first === '.well-known' ? 'oauth' : 'operations';
}

/** @param {string} name `shiftOpen` or `shift_open` */
function wordsOf(name) {
  const words = name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** @param {string} name */
function camel(name) {
  return `${name.charAt(0).toLowerCase()}${name.slice(1)}`;
}

/** @param {Record<string, Schema>} schemas */
function sorted(schemas) {
  return Object.fromEntries(Object.entries(schemas).sort(([one], [other]) => (one < other ? -1 : 1)));
}
