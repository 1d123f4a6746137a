import { createRequire } from 'node:module';

// Packages of CommonJS whose types do not follow Node's rules for modules.
const require = createRequire(import.meta.url);

/** Severity of Spectral: 0 is an error, 1 a warning. */
const ERROR = 0;

/** A limit protects who reads a text: the gateway those of requests. */
const TEXT_LIMIT = 'owasp:api4:2023-string-limit';

/** @typedef {{ [name: string]: unknown }} Node */

/**
 * The components that requests are made of.
 * @param {Node} description
 * @returns {Set<string>}
 */
function requestSchemas(description) {
  const schemas = /** @type {Record<string, unknown>} */ (Object(Object(description['components'])['schemas']));
  /** @type {Set<string>} */
  const found = new Set();
  /** @param {unknown} node */
  const collect = (node) => {
    for (const [, name = ''] of JSON.stringify(node ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (found.has(name)) continue;
      found.add(name);
      collect(schemas[name]);
    }
  };
  for (const item of Object.values(Object(description['paths']))) {
    for (const operation of Object.values(Object(item))) {
      collect(Object(operation)['requestBody']);
      collect(Object(operation)['parameters']);
    }
  }
  return found;
}

/**
 * @param {readonly (string | number)[]} path
 * @param {ReadonlySet<string>} ofRequests
 */
function isOfAnswer(path, ofRequests) {
  const [first, second, third] = path.map(String);
  if (first === 'components' && second === 'schemas') return !ofRequests.has(third ?? '');
  return path.includes('responses');
}

/**
 * What would be found only to be dropped, and what costs two thirds of the time of all rules though test/api/examples.int-spec.ts asks it,
 * too: whether each example of JSON or of a form is what its schema says.
 * @param {{ rules: { [name: string]: unknown } }[]} rulesets
 */
function idleRules(rulesets) {
  const rules = rulesets.flatMap((ruleset) => Object.entries(ruleset.rules));
  const isError = (/** @type {unknown} */ severity) => severity === ERROR || severity === 'error';
  return [
    'oas3-valid-media-example',
    ...rules.filter(([, rule]) => !isError(Object(rule).severity)).map(([name]) => name),
  ];
}

/**
 * Holds a description of an API against Spectral's rules for OpenAPI and OWASP's for safe APIs.
 * @param {string} text
 * @returns {Promise<string[]>} one line per error
 */
export async function lintDescription(text) {
  const { Spectral } = require('@stoplight/spectral-core');
  const { oas } = require('@stoplight/spectral-rulesets');
  const owasp = require('@stoplight/spectral-owasp-ruleset');
  const spectral = new Spectral();
  const owaspRules = owasp.default ?? owasp;
  const rules = Object.fromEntries(idleRules([oas, owaspRules]).map((name) => [name, 'off']));
  spectral.setRuleset(
    /** @type {import('@stoplight/spectral-core').RulesetDefinition} */ ({ extends: [oas, owaspRules], rules }),
  );
  const description = JSON.parse(text);
  const ofRequests = requestSchemas(description);
  const found = await spectral.run(description);
  return found
    .filter(({ severity }) => Number(severity) === ERROR)
    .filter(({ code, path }) => code !== TEXT_LIMIT || !isOfAnswer(path, ofRequests))
    .map(({ code, path, message }) => `${code} at ${path.join(' > ')}: ${message}`);
}
