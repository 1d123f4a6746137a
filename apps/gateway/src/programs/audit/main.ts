import 'reflect-metadata';
import { PrismaService, sessionsAt } from '#database';
import { runProgram } from '#runtime';
import { loadSettings } from '../../settings.js';
import { CheckAuditTrails } from '../../audit/check-audit-trails.js';
import { VerifyAuditTrail } from '../../audit/verify-audit-trail.js';

/** `npm run audit:verify [-- <file of heads>]`: one line per merchant; exit code 2 when a trail is not as it was written. */
runProgram(async () => {
  const settings = loadSettings();
  const headFile = process.argv[2] ?? settings.AUDIT_HEAD_FILE;
  const database = { url: sessionsAt(settings), poolSize: 1, applicationName: 'audit-verify', lockTimeoutMs: 5_000 };
  const prisma = new PrismaService(database);
  try {
    const trails = await new CheckAuditTrails(prisma, new VerifyAuditTrail(prisma, settings)).execute(headFile);
    for (const { merchantId, verdict, headsSeen } of trails) {
      const found =
        verdict.kind === 'intact'
          ? `intact, ${verdict.records} records`
          : `BROKEN at ${verdict.sequence}: ${verdict.fault}`;
      process.stdout.write(`${merchantId} ${found}, ${headsSeen} heads compared\n`);
    }
    if (trails.some(({ verdict }) => verdict.kind === 'broken')) process.exitCode = 2;
  } finally {
    await prisma.$disconnect();
  }
});
