/** For tests only: never imported by a program, never built. */
export { createTestDatabase, type TestDatabase } from './test-database.js';
