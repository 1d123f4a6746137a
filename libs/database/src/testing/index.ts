/** For tests only: never imported by a program, never built. */
export { startOwnServer, type OwnServer } from './own-server.js';
export { indexNames, planOf, plansInside, recorded, recordedInGroup, type ShownPlan } from './plans.js';
export { makeHalfYears } from './half-years.js';
export { visitedRows } from './visited-rows.js';
export { sampleDocument } from './sample-document.js';
export { testClient } from './test-client.js';
export { createEmptyDatabase, createTestDatabase, superuserOf, type TestDatabase } from './test-database.js';
export { createQuietDatabase, earlierTransactionsEnded } from './quiet-database.js';
