/**
 * The cut of the system (docs/architecture.md): who may know whom. Tests and the helpers in testing/ see what they test.
 * @type {import('dependency-cruiser').IConfiguration}
 */
const TESTS = '(\\.(spec|int-spec|e2e-spec)\\.ts$|/testing/)';

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A cycle cannot be understood, tested or moved piece by piece.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-type-cycles-between-packages',
      comment: 'Types may lean on each other within one app or lib, not across.',
      severity: 'error',
      from: { path: '^(apps|libs)/([^/]+)/' },
      to: { circular: true, pathNot: '^$1/$2/' },
    },
    {
      name: 'apps-do-not-know-each-other',
      comment: 'They meet in the database, in the queue and over HTTP.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'libs-do-not-know-apps',
      severity: 'error',
      from: { path: '^libs/', pathNot: TESTS },
      to: { path: '^(apps|test|bench)/' },
    },
    {
      name: 'libs-only-through-their-index',
      comment: 'What a lib shows is its index.ts; everything else may change without notice.',
      severity: 'error',
      from: { path: '^(apps|libs)/([^/]+)/', pathNot: TESTS },
      to: { path: '^libs/', pathNot: ['^$1/$2/', '^libs/[^/]+/src/index\\.ts$'] },
    },
    {
      name: 'cash-register-stands-alone',
      comment: 'A shop runs register and link agent without the gateway: no database server, no payments, no queue.',
      severity: 'error',
      from: { path: '^(apps/(cash-register|link-agent)|libs/link)/' },
      to: { path: ['^libs/(database|payments|queue)/', 'node_modules/(@prisma|pg|bullmq|ioredis)/'] },
    },
    {
      name: 'fiscal-domain-is-pure',
      comment: 'Rules of money and law run anywhere and need nothing, not even Node.js.',
      severity: 'error',
      from: { path: '^libs/fiscal-domain/', pathNot: TESTS },
      to: { pathNot: '^libs/fiscal-domain/' },
    },
    {
      name: 'sdk-stands-alone',
      comment: 'It is published as a package without dependencies, for runtimes that are not Node.js too.',
      severity: 'error',
      from: { path: '^libs/sdk/', pathNot: TESTS },
      to: { pathNot: '^libs/sdk/' },
    },
    {
      name: 'payments-is-framework-free',
      severity: 'error',
      from: { path: '^libs/payments/', pathNot: TESTS },
      to: { path: ['^libs/database/', 'node_modules/(@nestjs|@prisma)/'] },
    },
    {
      name: 'implementations-are-chosen-in-modules',
      comment: 'Which queue back end serves is decided where the program is put together, nowhere else.',
      severity: 'error',
      from: { path: '^apps/', pathNot: ['(\\.module|/main)\\.ts$', TESTS] },
      to: { path: 'node_modules/(bullmq|ioredis)/' },
    },
    {
      name: 'no-test-code-in-programs',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: TESTS },
      to: { path: ['/testing/', '\\.(spec|int-spec|e2e-spec)\\.ts$'] },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'programs-use-no-dev-dependencies',
      comment: 'They are missing in the container image.',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: TESTS },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^dist/', '/generated/'] },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['source', 'import', 'node', 'default', 'types'],
    },
  },
};
