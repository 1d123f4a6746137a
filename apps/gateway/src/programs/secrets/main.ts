import 'reflect-metadata';
import { PrismaService, sessionsAt } from '#database';
import { runProgram } from '#runtime';
import { loadSettings } from '../../settings.js';
import { RotateSecrets } from './rotate-secrets.js';

/** `npm run secrets:rotate`: one line per column; exit code 2 when a value could not be opened. */
runProgram(async () => {
  const settings = loadSettings();
  const prisma = new PrismaService({
    ...{ url: sessionsAt(settings), poolSize: 1, applicationName: 'secrets-rotate', lockTimeoutMs: 5_000 },
  });
  try {
    const columns = await new RotateSecrets(prisma, settings.SECRETS_KEY).execute();
    for (const { column, resealed, upToDate, unreadable } of columns) {
      process.stdout.write(
        `${column}: ${resealed} sealed under ${settings.SECRETS_KEY.active}, ${upToDate} were already\n`,
      );
      for (const id of unreadable)
        process.stdout.write(`${column} of ${id} CANNOT BE OPENED with any key of SECRETS_KEY\n`);
    }
    if (columns.some(({ unreadable }) => unreadable.length > 0)) process.exitCode = 2;
  } finally {
    await prisma.$disconnect();
  }
});
