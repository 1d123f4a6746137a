import { randomBytes } from 'node:crypto';
import { JobDatabase } from '#database';
import { createLogger, systemClock } from '#runtime';
import { parseKeyring } from '#secrets';
import { AuditTrail } from '../../../audit/audit-trail.js';
import { CatalogNotices } from '../../catalog/catalog-notices.js';
import { CatalogWords } from '../../catalog/catalog-words.js';
import { ApplyVersion } from '../apply-version.js';
import { Drafts } from '../drafts.js';
import { GoBack, type BackOutcome } from '../go-back.js';
import { ImportRuns, type ImportKind } from '../import-runs.js';
import { ScratchFolders } from '../../sheets/scratch-folders.js';
import { LoadClassifier, type LoadOutcome } from '../load-classifier.js';

const OPERATOR = { actor: 'cli', address: null, requestId: 'cmd_1' };
const logger = createLogger('cli', 'error', { write: () => undefined });

/** What the command line's `classifier load` and `back` are made of, with connections of its own. */
export class ClassifierRig {
  private constructor(
    private readonly prisma: JobDatabase,
    private readonly goBack: GoBack,
    private readonly loader: LoadClassifier,
  ) {}

  static on(url: string): ClassifierRig {
    const prisma = new JobDatabase({ url, poolSize: 2, applicationName: 'rig', lockTimeoutMs: 5_000 });
    const runs = new ImportRuns(prisma);
    const notices = new CatalogNotices(prisma, logger);
    const drafts = new Drafts(prisma, new CatalogWords(prisma));
    const trail = new AuditTrail({ SECRETS_KEY: parseKeyring(randomBytes(32).toString('base64')) });
    return new ClassifierRig(
      prisma,
      new GoBack(runs, prisma, trail, notices),
      new LoadClassifier(runs, drafts, new ApplyVersion(prisma, notices), systemClock, new ScratchFolders({}, logger)),
    );
  }

  back(to: number | null = null): Promise<BackOutcome> {
    return this.goBack.execute(OPERATOR, { to, reason: 'wrong codes' });
  }

  load(kind: ImportKind, source: string): Promise<LoadOutcome> {
    return this.loader.execute(kind, source, { pausesMs: [1] });
  }

  end(): Promise<void> {
    return this.prisma.$disconnect();
  }
}
