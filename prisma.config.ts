import { defineConfig } from 'prisma/config';

/** For the Prisma command line alone; the programs read their own settings. An empty URL is enough to generate. */
export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env['MIGRATE_DATABASE_URL'] ?? '' },
});
