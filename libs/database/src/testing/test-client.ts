import { PrismaService } from '../prisma.service.js';

/**
 * A test's own client: what a test reads and writes behind the programs' back waits as long as a busy machine needs. A program's
 * client gives up a row that another transaction holds within 400 ms.
 */
export function testClient(url: string, poolSize = 3): PrismaService {
  const patience = { lockTimeoutMs: 60_000, statementTimeoutMs: 60_000, connectTimeoutMs: 60_000 };
  return new PrismaService({ url, poolSize, applicationName: 'test', ...patience });
}
