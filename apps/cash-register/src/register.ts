import { randomUUID } from 'node:crypto';
import { systemClock, type Clock, type Logger } from '#runtime';
import type { Classifier } from './classifier/classifier.js';
import { EmulatedClock, FaultBoard } from './emulator/faults.js';
import type { FiscalModule, Refusal } from '#fiscal-module';
import { SoftwareFiscalModule } from './fiscal-module/software-fiscal-module.js';
import { closeDatabase, DataFolderError, giveUpDatabase, openDatabase, type Sqlite } from './journal/database.js';
import { Journal } from './journal/journal.js';
import { Meta } from './journal/meta.js';
import { AccessToken } from './access-token.js';
import { OfdClient } from './ofd/ofd-client.js';
import { ReceiptCourier } from './ofd/receipt-courier.js';
import { ZReportCourier } from './ofd/z-report-courier.js';
import type { ReceiptIssuer } from './receipts/receipt-html.js';
import { RegisterReceipt } from './receipts/register-receipt.js';
import type { RegisterSettings } from './settings.js';
import { emulatedSubscription, subscriptionAt, type SubscriptionNow } from './subscription.js';

export interface RegisterOptions {
  readonly settings: RegisterSettings;
  readonly classifier: Classifier;
  readonly logger: Logger;
  /** The data folder; `settings.DATA_DIR` unless one process serves several registers. */
  readonly folder?: string;
  /** Smaller when one process serves many registers. */
  readonly cachePages?: number;
  readonly clock?: Clock;
}

/** Everything one register consists of; the doing is in the parts, this only holds them together. */
interface RegisterParts {
  readonly settings: RegisterSettings;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly faults: FaultBoard | null;
  readonly db: Sqlite;
  readonly meta: Meta;
  readonly journal: Journal;
  readonly module: FiscalModule;
  readonly ofd: OfdClient;
  readonly courier: ReceiptCourier;
  readonly zReportCourier: ZReportCourier;
  readonly journalId: string;
  readonly folder: string;
}

/** One cash register: its data folder, fiscal module, journal and deliveries. `localApiServer()` serves it. */
export class Register {
  readonly settings = this.parts.settings;
  readonly logger = this.parts.logger;
  readonly clock = this.parts.clock;
  /** Only on an emulator. */
  readonly faults = this.parts.faults;
  readonly meta = this.parts.meta;
  readonly journal = this.parts.journal;
  readonly module = this.parts.module;
  readonly courier = this.parts.courier;
  readonly zReportCourier = this.parts.zReportCourier;
  /** Made once with the data folder: a cleared or restored register is recognised by it. */
  readonly journalId = this.parts.journalId;
  readonly folder = this.parts.folder;
  readonly receipts: RegisterReceipt;

  constructor(
    private readonly parts: RegisterParts,
    readonly accessToken: AccessToken,
    readonly classifier: Classifier,
  ) {
    const { module, journal, courier, settings } = parts;
    this.receipts = new RegisterReceipt({
      ...{ module, journal, courier, goods: classifier.lookUp, vatRule: settings.VAT_RULE },
      issuer: () => this.issuer(),
      barred: () => this.barred(),
      extensions: settings.REGISTER_EXTENSIONS,
    });
  }

  isActivated(): boolean {
    return this.meta.get('activated_at') !== null;
  }

  subscription(): SubscriptionNow {
    const { SUBSCRIPTION_EXPIRES_AT: expiresAt, SUBSCRIPTION_WARNING_DAYS: warningDays } = this.settings;
    const now = subscriptionAt(this.clock.now(), expiresAt, warningDays);
    const faked = this.faults?.subscription() ?? null;
    return faked === null || faked === now.state ? now : emulatedSubscription(faked, this.clock.now(), warningDays);
  }

  /** Why no fiscal operation is possible at all (E-001, E-002); `null` when it is. */
  barred(): Refusal | null {
    if (!this.isActivated()) {
      return { kind: 'refused', code: 'E-001', message: 'The cash register is not activated' };
    }
    if (this.subscription().state === 'expired') {
      return { kind: 'refused', code: 'E-002', message: 'The subscription has expired' };
    }
    return null;
  }

  issuer(): ReceiptIssuer {
    return {
      businessName: this.settings.REGISTER_BUSINESS_NAME,
      tin: this.settings.REGISTER_TIN,
      branchAddress: this.settings.REGISTER_BRANCH_ADDRESS,
      verificationUrl: this.settings.VERIFICATION_URL,
      language: this.settings.RECEIPT_LANGUAGE,
    };
  }

  close(): void {
    this.parts.ofd.close();
    this.module.close();
    closeDatabase(this.parts.db);
  }
}

/**
 * Opens a register on its data folder and verifies its chain.
 * @throws DataFolderError when the folder cannot be used or belongs to another terminal
 */
export function openRegister(options: RegisterOptions): Register {
  const { settings, classifier } = options;
  const folder = options.folder ?? settings.DATA_DIR;
  const db = openDatabase(folder, options.cachePages);
  try {
    const parts = assemble(db, folder, options);
    refuseForeignFolder(folder, parts);
    const fault = parts.module.fault();
    if (fault) parts.logger.error({ details: fault.details }, fault.message);
    if (settings.REGISTER_ACTIVATED) parts.meta.getOrMake('activated_at', () => parts.clock.now().toISOString());
    const accessToken = new AccessToken({ db, meta: parts.meta, folder }, settings.REGISTER_API_KEY);
    return new Register(parts, accessToken, classifier);
  } catch (error) {
    throw giveUpDatabase(db, folder, error);
  }
}

function assemble(db: Sqlite, folder: string, options: RegisterOptions): RegisterParts {
  const { settings, logger, clock: given = systemClock } = options;
  const emulated = new EmulatedClock(given);
  const faults = settings.EMULATOR ? new FaultBoard(emulated) : null;
  const clock = faults ? emulated : given;
  const meta = new Meta(db);
  const journal = new Journal(db);
  const module = new SoftwareFiscalModule({
    ...{ db, journal, clock, terminalId: settings.REGISTER_TERMINAL_ID },
    minIntervalMs: settings.FM_MIN_INTERVAL_MS,
    receiptCapacity: settings.FM_RECEIPT_CAPACITY,
    shiftCapacity: settings.FM_SHIFT_CAPACITY,
    paymentToleranceTiyin: settings.FM_PAYMENT_TOLERANCE_TIYIN ?? null,
    onFault: (error) => logger.error({ err: error }, 'the journal could not be written'),
    isMemoryFull: () => faults?.strikes('memory_full') === true,
  });
  const ofd = new OfdClient(settings.OFD_URLS, () => faults?.strikes('ofd_down') === true);
  const saleBudgetMs = settings.OFD_SALE_BUDGET_MS;
  return {
    ...{ settings, logger, clock, faults, db, meta, journal, module, ofd, folder },
    courier: new ReceiptCourier({ module, journal, ofd, saleBudgetMs, logger }),
    zReportCourier: new ZReportCourier(module, ofd, saleBudgetMs),
    journalId: meta.getOrMake('journal_id', randomUUID),
  };
}

function refuseForeignFolder(folder: string, { settings, module }: RegisterParts): void {
  const { terminalId } = module.info();
  const wanted = settings.REGISTER_TERMINAL_ID;
  if (wanted === undefined || wanted === terminalId) return;
  throw new DataFolderError(`The data folder ${folder} belongs to terminal ${terminalId}, not to ${wanted}.`);
}
