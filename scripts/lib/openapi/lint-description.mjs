import { createRequire } from 'node:module';

// Packages of CommonJS whose types do not follow Node's rules for modules.
const require = createRequire(import.meta.url);

/** Severity of Spectral: 0 is an error, 1 a warning. */
const ERROR = 0;

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
  spectral.setRuleset(
    /** @type {import('@stoplight/spectral-core').RulesetDefinition} */ ({ extends: [oas, owaspRules] }),
  );
  const found = await spectral.run(JSON.parse(text));
  return found
    .filter(({ severity }) => Number(severity) === ERROR)
    .map(({ code, path, message }) => `${code} at ${path.join(' > ')}: ${message}`);
}
