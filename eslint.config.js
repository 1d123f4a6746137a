import eslint from '@eslint/js';
import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';
import { ledgerReaders } from './scripts/lib/ledger-readers.mjs';
import { ownedTables } from './scripts/lib/owned-tables.mjs';

/** A suppression without its reason is a puzzle for the next reader. */
const suppressionNeedsReason = {
  create(context) {
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          const isSuppression = /^\s*(eslint|oxlint)-disable/.test(comment.value);
          if (!isSuppression || /\s--\s+\S/.test(comment.value)) continue;
          context.report({ loc: comment.loc, message: 'Say why: "eslint-disable-… rule -- reason".' });
        }
      },
    };
  },
};

const counted = { skipBlankLines: true, skipComments: true };
const inConstructor = 'MethodDefinition[kind="constructor"] > FunctionExpression';
/** Its parameters are those of the constructor that it calls. */
const inFactory = 'Property[key.name="useFactory"] > ArrowFunctionExpression';

/** What the syntax alone can show; each entry is one budget or one habit of this repository. */
const restrictedSyntax = [
  {
    selector: `:matches(FunctionDeclaration, ArrowFunctionExpression, FunctionExpression)[params.length>4]:not(${inConstructor}, ${inFactory})`,
    message: 'At most four parameters: pass one object.',
  },
  {
    selector: `:matches(${inConstructor}, ${inFactory})[params.length>6]`,
    message: 'At most six collaborators: split the class.',
  },
  { selector: 'ExportDefaultDeclaration', message: 'No default exports: one name everywhere.' },
];
/** Its cost grows with the square of a run of marks. */
const normalising = {
  selector: 'CallExpression[callee.property.name="normalize"]',
  message: 'Normalise with normaliseText (libs/fiscal-domain), which refuses what would take seconds.',
};
/** Within a transaction what is joined has the same connection. */
const joined = {
  selector: 'CallExpression[callee.property.name=/^findUnique/]:not([callee.object.object.name="tx"])',
  message: 'Prisma joins those of several calls: they run for the merchant, and in the share, of the first. findFirst.',
};
const barrel = {
  selector: ':matches(ExportAllDeclaration, ExportNamedDeclaration[source])',
  message: 'Re-exports hide cycles: only the index.ts of a lib has them.',
};
const environment = {
  'no-restricted-properties': [
    'error',
    { object: 'process', property: 'env', message: 'The environment is read once, in settings.ts.' },
  ],
  'no-restricted-imports': [
    'error',
    {
      paths: [
        ...['process', 'node:process'].map((name) => ({
          name,
          importNames: ['env'],
          message: 'Read it in settings.ts.',
        })),
        {
          name: '#problems',
          importNames: ['PROBLEMS'],
          message: 'What HTTP makes of a problem is said in libs/http; elsewhere ask the problem (code, isRefusal).',
        },
      ],
      patterns: [
        {
          group: ['@nestjs/common'],
          importNamePattern: 'Exception$',
          message: 'Throw a Problem (libs/problems): one place makes the answer.',
        },
      ],
    },
  ],
};

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.data/', '.artifacts/', '**/generated/', 'prisma/migrations/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  eslint.configs.recommended,
  tseslint.configs.recommended,
  {
    languageOptions: { parserOptions: { emitDecoratorMetadata: true, experimentalDecorators: true } },
    plugins: {
      local: {
        rules: {
          'suppression-needs-reason': suppressionNeedsReason,
          'owned-tables': ownedTables,
          'ledger-readers': ledgerReaders,
        },
      },
    },
    rules: {
      'local/suppression-needs-reason': 'error',
      'max-lines': ['error', { max: 400, ...counted }],
      'max-lines-per-function': ['error', { max: 70, ...counted }],
      'no-restricted-syntax': ['error', ...restrictedSyntax, barrel],
      'no-console': 'error',
      // Refusing control characters is our daily work.
      'no-control-regex': 'off',
      eqeqeq: 'error',
      ...environment,
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  {
    // What programs run on the texts of strangers.
    files: ['apps/**/*.{ts,tsx}', 'libs/**/*.ts'],
    ignores: ['**/*.{spec,int-spec,e2e-spec,long-spec}.ts', '**/testing/**'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }],
    },
  },
  {
    files: ['apps/**/*.ts', 'libs/**/*.ts'],
    ignores: ['**/*.{spec,int-spec,e2e-spec,long-spec}.ts', '**/testing/**', 'libs/fiscal-domain/src/text.ts'],
    rules: { 'no-restricted-syntax': ['error', ...restrictedSyntax, normalising, joined, barrel] },
  },
  {
    // Tests and their fixtures set up what no program could.
    files: ['apps/**/*.ts', 'libs/**/*.ts', 'scripts/**/*.mjs'],
    ignores: ['**/*.{spec,int-spec,e2e-spec,long-spec}.ts', '**/testing/**'],
    rules: { 'local/owned-tables': 'error' },
  },
  {
    files: ['apps/**/*.ts', 'libs/**/*.ts'],
    ignores: ['**/*.{spec,int-spec,e2e-spec,long-spec}.ts', '**/testing/**'],
    rules: { 'local/ledger-readers': 'error' },
  },
  { files: ['**/index.ts'], rules: { 'no-restricted-syntax': ['error', ...restrictedSyntax] } },
  { files: ['apps/*/src/**/settings.ts'], rules: { 'no-restricted-properties': 'off' } },
  // The place that turns problems into answers.
  { files: ['libs/http/src/**/*.ts'], rules: { 'no-restricted-imports': 'off' } },
  {
    // A `describe` is a chapter, not a function; answers of HTTP are compared, not typed.
    files: ['**/*.{spec,int-spec,e2e-spec,long-spec}.ts', '**/testing/**/*.ts', 'test/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      'no-restricted-properties': 'off',
      'no-restricted-imports': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    // Measurements start programs, hand them their environment and print.
    files: ['bench/**/*.ts'],
    rules: { 'no-console': 'off', 'no-restricted-properties': 'off', 'no-restricted-imports': 'off' },
  },
  {
    // Tools: plain JavaScript that runs before anything is installed, checked by its JSDoc types.
    files: ['**/*.mjs', '**/*.cjs', '*.js', '*.config.ts'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', module: 'writable', fetch: 'readonly' } },
    rules: {
      'no-console': 'off',
      'no-undef': 'off',
      'no-restricted-properties': 'off',
      'no-restricted-imports': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
    },
  },
  {
    // The tools behind these files want a default export.
    files: ['*.config.{js,mjs,ts}', 'scripts/lib/jest-*.mjs'],
    rules: { 'no-restricted-syntax': 'off' },
  },
);
