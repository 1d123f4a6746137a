import fs from 'node:fs';
import path from 'node:path';

/** Four kinds of tests by file name: .spec pure, .int-spec with real parts, .e2e-spec whole systems, .long-spec those before a release. */

/**
 * @param {string} name
 * @param {string} pattern
 */
const project = (name, pattern, more = {}) => ({
  displayName: name,
  rootDir: import.meta.dirname,
  roots: ['apps', 'libs', 'test', 'bench']
    .map((name) => path.join(import.meta.dirname, name))
    .filter((folder) => fs.existsSync(folder)),
  testMatch: [`**/*.${pattern}.ts`],
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.data'],
  ...more,
});

/** In processes of Node.js instead of Jest's own contexts (docs/adr/0076-test-files-run-natively.md). */
const natively = { runner: path.join(import.meta.dirname, 'scripts', 'lib', 'native-jest', 'runner.mjs') };

/** A PostgreSQL with a migrated template; jest starts it only when a test of the project runs. */
const withDatabase = {
  globalSetup: '<rootDir>/scripts/lib/jest-global-setup.mjs',
  globalTeardown: '<rootDir>/scripts/lib/jest-global-teardown.mjs',
};

export default {
  // Real parts on a busy machine: a test fails by its own deadline, not by the clock of another. (Jest ignores it in a project.)
  testTimeout: 360_000,
  testSequencer: path.join(import.meta.dirname, 'scripts', 'lib', 'jest-longest-first.mjs'),
  projects: [
    project('unit', 'spec', natively),
    project('integration', 'int-spec', { ...natively, ...withDatabase }),
    project('system', 'e2e-spec', { ...natively, ...withDatabase }),
    // Only by npm run test:long.
    project('long', 'long-spec', { ...natively, ...withDatabase }),
    // Judged by a person; only by npm run console:pictures.
    project('pictures', 'pictures', { ...natively, ...withDatabase }),
  ],
};
