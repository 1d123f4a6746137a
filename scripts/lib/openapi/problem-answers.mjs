/** @typedef {import('./type-schemas.mjs').Schema} Schema */

const REQUEST_ID = { $ref: '#/components/headers/X-Request-Id' };
const PRINTABLE = String.raw`^[\x20-\x7E]*$`;

/** @type {Record<string, Schema>} */
export const HEADERS = {
  'X-Request-Id': {
    description: 'Of this request; the log has it as request_id.',
    required: true,
    schema: { type: 'string', maxLength: 128, pattern: PRINTABLE },
  },
  Location: {
    description: 'Where the result is, or will be.',
    schema: { type: 'string', format: 'uri-reference', maxLength: 2_048 },
  },
  'Retry-After': {
    description: 'Seconds after which the same request can succeed.',
    schema: { type: 'integer', format: 'int32', minimum: 0, maximum: 86_400 },
  },
  'WWW-Authenticate': {
    description: 'The challenge of RFC 6750, or of RFC 7617 at the token endpoint.',
    schema: { type: 'string', maxLength: 1_024, pattern: PRINTABLE },
  },
  Allow: {
    description: 'The methods of this path.',
    schema: { type: 'string', maxLength: 128, pattern: PRINTABLE },
  },
  RateLimit: {
    description: 'What is left of the quota, where there is one.',
    schema: { type: 'string', maxLength: 256, pattern: PRINTABLE },
  },
  'Access-Control-Allow-Origin': {
    description: 'Never sent: browsers of other sites may not call this API.',
    schema: { type: 'string', maxLength: 1, pattern: '^$' },
  },
};

const RATE_LIMIT = {
  RateLimit: { $ref: '#/components/headers/RateLimit' },
  'Access-Control-Allow-Origin': { $ref: '#/components/headers/Access-Control-Allow-Origin' },
};
const RETRY = { 'Retry-After': { $ref: '#/components/headers/Retry-After' } };
const CHALLENGE = { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } };

/** Every refusal by its status. @type {Record<string, Schema>} */
export const PROBLEM_RESPONSES = {
  Problem400: problem('The request cannot be read.'),
  Problem401: problem('No valid access token.', CHALLENGE),
  Problem403: problem('The token or the caller is not entitled to this.', CHALLENGE),
  Problem404: problem('There is no such thing, or it is another merchant’s.'),
  Problem405: problem('The path has other methods.', { Allow: { $ref: '#/components/headers/Allow' } }),
  Problem409: problem('It contradicts the present state.', RETRY),
  Problem413: problem('The body is too large.'),
  Problem415: problem('The body is of another media type than this path takes.'),
  Problem422: problem(
    'The content cannot be used; `errors` names every fault. With Location: the register refused the document.',
  ),
  Problem429: problem('Too many requests.', RETRY),
  Problem500: problem('An error of ours.'),
  Problem503: problem(
    'Something that is needed is away. Nothing was stored, or a repeat with the same key finds it.',
    RETRY,
  ),
  Problem: problem('Any other refusal.'),
  OauthError: oauthError('A refusal in the form of RFC 6749 §5.2, or a problem document.', CHALLENGE),
  OauthSlowDown: oauthError('Too many failed logins (`slow_down`), or too many requests.', RETRY),
};

/** @param {string[]} codes @returns {Record<string, Schema>} */
export function problemSchemas(codes) {
  const sentence = { type: 'string', maxLength: 4_096 };
  const code = { type: 'string', enum: codes };
  return {
    Problem: object(
      'A refusal (RFC 9457).',
      {
        type: {
          description: 'The page of this gateway that says what the code means and what to do.',
          type: 'string',
          format: 'uri-reference',
          maxLength: 128,
          example: '/docs/problems/required',
        },
        title: sentence,
        status: { type: 'integer', format: 'int32', minimum: 400, maximum: 599 },
        detail: sentence,
        code: { description: 'For programs; of several faults the first one.', ...code },
        retryable: { description: 'Whether the same request can succeed later.', type: 'boolean' },
        request_id: { type: 'string', maxLength: 128, pattern: PRINTABLE },
        trace_id: {
          type: 'string',
          maxLength: 32,
          pattern: '^[0-9a-f]{32}$',
          description: 'Of the trace of this request, while the gateway traces.',
        },
        errors: { type: 'array', maxItems: 100_000, items: { $ref: '#/components/schemas/ProblemError' } },
      },
      ['type', 'title', 'status', 'detail', 'code', 'retryable', 'request_id', 'errors'],
    ),
    ProblemError: object(
      'One fault of the request.',
      {
        pointer: { description: 'RFC 6901, into the body; `""` is the whole body.', type: 'string', maxLength: 4_096 },
        code: { type: 'string', maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' },
        rule: { description: 'Of the local fiscal API.', type: 'string', maxLength: 128, pattern: PRINTABLE },
        detail: sentence,
      },
      ['pointer', 'code', 'detail'],
    ),
    OauthError: object(
      'A refusal of RFC 6749 §5.2.',
      {
        error: { type: 'string', maxLength: 64, pattern: '^[a-z_]+$' },
        error_description: { type: 'string', maxLength: 512, pattern: PRINTABLE },
        error_uri: { type: 'string', format: 'uri', maxLength: 512 },
      },
      ['error'],
    ),
    OauthForm: {
      description: 'Parameters of RFC 6749, 7009, 7523 and 7662; each at most once.',
      type: 'object',
      properties: {
        ...field('grant_type', 64),
        ...field('scope', 1_024),
        ...field('client_id', 64),
        ...field('client_secret', 256),
        ...field('client_assertion_type', 128),
        ...field('client_assertion', 8_192),
        ...field('token', 4_096),
        ...field('token_type_hint', 64),
      },
      additionalProperties: { type: 'string', maxLength: 8_192 },
      maxProperties: 32,
    },
  };
}

/**
 * What a route may refuse with. 405 needs another method and so stands nowhere; `default` is for what no list foresees.
 * @param {import('./explore.mjs').Route} route
 * @returns {Record<string, Schema>}
 */
export function errorAnswers(route) {
  const takesBody = route.takesBody || route.takesForm;
  // Logins: what they prove may be wrong.
  const logsIn = route.scopes === null && route.method !== 'get' && route.path.startsWith('/auth/');
  const statuses = [
    400,
    ...(route.scopes === null && !logsIn ? [] : [401]),
    ...(route.scopes === null && !route.fromConsole ? [] : [403]),
    404,
    ...(route.method === 'get' ? [] : [409]),
    ...(takesBody ? [413, 415] : []),
    ...(takesBody || route.query ? [422] : []),
    ...[429, 500, 503],
  ].filter((status) => !(route.answers?.statuses ?? []).includes(status));
  /** @type {Record<string, Schema>} */
  const answers = {};
  for (const status of statuses) answers[status] = { $ref: `#/components/responses/Problem${status}` };
  answers['default'] = { $ref: '#/components/responses/Problem' };
  if (route.filters.includes('OauthErrorFilter')) {
    answers[429] = { $ref: '#/components/responses/OauthSlowDown' };
    for (const status of [400, 401, 403, 503]) answers[status] = { $ref: '#/components/responses/OauthError' };
  }
  return answers;
}

/** @param {string} description @param {Schema} [headers] @returns {Schema} */
function problem(description, headers = {}) {
  return { description, headers: { 'X-Request-Id': REQUEST_ID, ...RATE_LIMIT, ...headers }, content: problemContent() };
}

/** @param {string} description @param {Schema} headers @returns {Schema} */
function oauthError(description, headers) {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/OauthError' } }, ...problemContent() };
  return { description, headers: { 'X-Request-Id': REQUEST_ID, ...RATE_LIMIT, ...headers }, content };
}

function problemContent() {
  return { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
}

/** @param {string} description @param {Record<string, Schema>} properties @param {string[]} [required] @returns {Schema} */
function object(description, properties, required = Object.keys(properties)) {
  return { description, type: 'object', properties, required, additionalProperties: false };
}

/** @param {string} name @param {number} maxLength @returns {Record<string, Schema>} */
function field(name, maxLength) {
  return { [name]: { type: 'string', maxLength } };
}
