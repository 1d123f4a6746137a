import { Inject, Module, type OnModuleInit } from '@nestjs/common';
import { PrismaService } from '#database';
import type { ProviderCode } from '#payments';
import { Metrics, type Logger } from '#runtime';
import { ScratchModule } from '../goods/sheets/scratch.module.js';
import { LimitsModule } from '../access/limits/limits.module.js';
import { AuditModule } from '../audit/audit.module.js';
import { ReceiptsModule } from '../receipts/receipts.module.js';
import type { GatewaySettings } from '../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { ProviderAccounts } from './accounts/provider-accounts.js';
import { ProviderAccountsController } from './accounts/provider-accounts.controller.js';
import { TestConnection } from './accounts/test-connection.js';
import { AdvancePayment } from './advance-payment.js';
import { CallProvider } from './call-provider.js';
import { ChangePayment } from './change-payment.js';
import { CollectPayment } from './collect-payment.js';
import { ComparePayments } from './compare-payments.js';
import { CreatePayment } from './create-payment.js';
import { CallbackKeeper } from './inbound/callback-keeper.js';
import { ClickCalls } from './inbound/click-calls.js';
import { DefinedCalls } from './inbound/defined-calls.js';
import { EndExtraCharge } from './extra-charges/end-extra-charge.js';
import { ExtraChargeKeeper } from './extra-charges/extra-charge-keeper.js';
import { ExtraChargesRepository } from './extra-charges/extra-charges.repository.js';
import { HintCalls } from './inbound/hint-calls.js';
import { HintReadings } from './inbound/hint-readings.js';
import { ProviderLogins } from './inbound/provider-logins.js';
import { InboundRepository } from './inbound/inbound.repository.js';
import { CallbackSeal } from './inbound/kept-calls.js';
import { MulticardCalls } from './inbound/multicard-calls.js';
import { PaymeCalls } from './inbound/payme-calls.js';
import { PaymeFiscalData } from './inbound/payme-fiscal-data.js';
import { PaymeGroups } from './inbound/payme-groups.js';
import { ProviderBodies } from './inbound/provider-bodies.js';
import { ProviderCallsController } from './inbound/provider-calls.controller.js';
import { PROTOCOL_OF, type ProtocolOf, type ProviderProtocol } from './inbound/provider-protocol.js';
import { TransactionCalls } from './inbound/transaction-calls.js';
import { NoCardData } from './no-card-data.js';
import { OperatorPaymentsController } from './operator-payments.controller.js';
import { PaymentRows } from './repository/payment-rows.repository.js';
import { observeForPerson, PaymentMetrics } from './payment-metrics.js';
import { countForPerson } from './repository/payments-for-person.js';
import { PAYMENT_TIMING, paymentTiming } from './payment-settings.js';
import { PaymentWorker } from './payment-worker.js';
import { PaymentRepository } from './repository/payment.repository.js';
import { PaymentsController } from './payments.controller.js';
import { PreparePayment } from './prepare-payment.js';
import { ProviderClients } from './provider-clients.js';
import { Failover } from './routing/failover.js';
import { PaymentRoutingController } from './routing/payment-routing.controller.js';
import { PaymentRouting } from './routing/payment-routing.js';
import { ProviderHealth } from './routing/provider-health.js';
import { ReceiptDraftsController } from './receipt-drafts.controller.js';
import { ReceiptMoves } from './receipt-moves.js';
import { ReceiptsController } from './receipts.controller.js';
import { Reconciliation } from './reconciliation.js';
import { RefundSale } from './refund-sale.js';
import { RefundsController } from './refunds.controller.js';
import { ResolvePayment } from './resolve-payment.js';
import { SagaWork } from './saga-work.js';
import { CompareRegister } from './settlement/compare-register.js';
import { SettlementForms } from './settlement/settlement-forms.js';
import { SettlementRepository } from './settlement/settlement.repository.js';
import { SettlementsController } from './settlement/settlements.controller.js';
import { SearchPayments } from './search-payments.js';

@Module({
  imports: [AuditModule, LimitsModule, ReceiptsModule, ScratchModule],
  controllers: [
    ReceiptsController,
    ReceiptDraftsController,
    RefundsController,
    PaymentsController,
    ProviderAccountsController,
    PaymentRoutingController,
    SettlementsController,
    ProviderCallsController,
    OperatorPaymentsController,
  ],
  providers: [
    {
      provide: PAYMENT_TIMING,
      inject: [SETTINGS_TOKEN],
      useFactory: (settings: GatewaySettings) => paymentTiming(settings),
    },
    PaymentRepository,
    PaymentRows,
    ProviderAccounts,
    TestConnection,
    ProviderClients,
    ProviderHealth,
    PaymentRouting,
    Failover,
    SettlementRepository,
    SettlementForms,
    CompareRegister,
    ReceiptMoves,
    RefundSale,
    CallProvider,
    PaymentMetrics,
    SagaWork,
    AdvancePayment,
    PaymentWorker,
    PreparePayment,
    CreatePayment,
    CollectPayment,
    ChangePayment,
    Reconciliation,
    SearchPayments,
    ComparePayments,
    ResolvePayment,
    NoCardData,
    ProviderBodies,
    CallbackSeal,
    CallbackKeeper,
    ExtraChargesRepository,
    ExtraChargeKeeper,
    EndExtraCharge,
    InboundRepository,
    PaymeGroups,
    PaymeCalls,
    PaymeFiscalData,
    ClickCalls,
    MulticardCalls,
    TransactionCalls,
    HintReadings,
    HintCalls,
    ProviderLogins,
    DefinedCalls,
    {
      provide: PROTOCOL_OF,
      inject: [PaymeCalls, ClickCalls, MulticardCalls, DefinedCalls],
      useFactory: (
        payme: PaymeCalls,
        click: ClickCalls,
        multicard: MulticardCalls,
        others: DefinedCalls,
      ): ProtocolOf => {
        const own = new Map<ProviderCode, ProviderProtocol>([
          ['payme', payme],
          ['click', click],
          ['multicard', multicard],
        ]);
        return (provider) => own.get(provider) ?? others;
      },
    },
  ],
  exports: [CollectPayment, PaymentWorker, PreparePayment],
})
export class PaymentsModule implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly prisma: PrismaService,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onModuleInit(): void {
    observeForPerson(this.metrics, () => countForPerson(this.prisma), this.logger);
  }
}
