import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

import { ROOT } from './paths.mjs';
import { UserError } from './user-error.mjs';

export const CHART = path.join(ROOT, 'ops', 'helm', 'fiscal-gateway');
const RENDERER = path.join(ROOT, 'test', 'deployment', 'helm', 'render.go');
const PROGRAM = path.join(ROOT, '.artifacts', 'helm-render');
/** Where Debian puts the sources of libraries in Go. */
const LIBRARIES = '/usr/share/gocode';

/** @typedef {Record<string, any>} Values */
/** @typedef {{ values: Values, isUpgrade?: boolean }} Case */
/**
 * What a manifest holds beside these is its kind's own: the published schemas check it, and tests read what they expect.
 * @typedef {{ name: string, labels?: Record<string, string>, annotations?: Record<string, string> }} Metadata
 * @typedef {{ apiVersion: string, kind: string, metadata: Metadata, [key: string]: any }} Manifest
 */

/** Whether charts can be rendered here: golang-go, golang-github-masterminds-sprig-dev, golang-github-ghodss-yaml-dev. */
export function canRender() {
  const hasSources = fs.existsSync(path.join(LIBRARIES, 'src', 'github.com', 'Masterminds', 'sprig'));
  return hasSources && spawnSync('go', ['version']).status === 0;
}

/**
 * The values of the chart with others put over them, as Helm does: objects are merged, everything else replaced, null removes.
 * @param {Values} others
 * @returns {Values}
 */
export function valuesWith(others) {
  return merged(readYaml('values.yaml'), others);
}

/** @param {string} file of the chart */
export function readYaml(file) {
  return parse(fs.readFileSync(path.join(CHART, file), 'utf8'));
}

/**
 * What the chart makes of each case, in their order.
 * @param {Case[]} cases
 * @returns {Rendered[]}
 * @throws UserError where a template fails
 */
export function renderChart(cases) {
  const input = {
    chart: CHART,
    cases: cases.map(({ values, isUpgrade = false }) => ({
      values,
      release: {
        ...{ Name: 'shop', Namespace: 'fiscal', Service: 'Helm', Revision: isUpgrade ? 2 : 1 },
        ...{ IsInstall: !isUpgrade, IsUpgrade: isUpgrade },
      },
    })),
  };
  const output = execFileSync(renderer(), { input: JSON.stringify(input), maxBuffer: 2 ** 30 });
  /** @type {{ files?: Record<string, string>, error?: string }[]} */
  const results = JSON.parse(output.toString());
  return results.map(({ files = {}, error }) => {
    if (error !== undefined) throw new UserError(error);
    return new Rendered(files);
  });
}

/** The texts of one case; read as YAML when they are asked for. */
export class Rendered {
  /** @type {Manifest[] | null} */
  #manifests = null;

  /** @param {Record<string, string>} files */
  constructor(files) {
    this.files = files;
  }

  get manifests() {
    this.#manifests ??= manifestsOf(this.files);
    return this.#manifests;
  }
}

/**
 * @param {Record<string, string>} files
 * @returns {Manifest[]}
 */
function manifestsOf(files) {
  return Object.entries(files)
    .filter(([name]) => name.endsWith('.yaml'))
    .flatMap(([name, text]) =>
      parseAllDocuments(text).map((document) => {
        const [fault] = document.errors;
        if (fault) throw new UserError(`${name}: ${fault.message}`);
        return document.toJS();
      }),
    )
    .filter((manifest) => manifest !== null);
}

/** Built anew when its source is newer; another run's half-written program is never seen. */
function renderer() {
  const isBuilt = fs.existsSync(PROGRAM) && fs.statSync(PROGRAM).mtimeMs > fs.statSync(RENDERER).mtimeMs;
  if (isBuilt) return PROGRAM;
  fs.mkdirSync(path.dirname(PROGRAM), { recursive: true });
  const own = `${PROGRAM}.${process.pid}`;
  execFileSync('go', ['build', '-o', own, RENDERER], {
    env: { ...process.env, GO111MODULE: 'off', GOPATH: LIBRARIES, GOFLAGS: '' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  fs.renameSync(own, PROGRAM);
  return PROGRAM;
}

/**
 * @param {any} below
 * @param {any} above
 * @returns {any}
 */
function merged(below, above) {
  if (above === undefined) return below;
  if (!isObject(below) || !isObject(above)) return above;
  const result = { ...below };
  for (const [key, value] of Object.entries(above)) {
    if (value === null) delete result[key];
    else result[key] = merged(below[key], value);
  }
  return result;
}

/** @param {unknown} value */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
