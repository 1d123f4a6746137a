/**
 * How Node.js runs a program of ours, here as in an installation (docker-compose.yml, the chart). Errors name the sources' own lines, and
 * the young generation takes what 32 requests at a time leave behind until they are answered: docs/adr/0203-what-the-bundle-adds.md.
 */
export const PROGRAM_FLAGS = ['--enable-source-maps', '--max-semi-space-size=32'];
