export { atmosSign } from './atmos/atmos.signature.js';
export { basicAuthorization } from './basic-auth.js';
export { decideClick, type ClickAttempt, type ClickDecision, type ClickOrder } from './click/click-shop.decision.js';
export { clickAnswer, clickFault, readClickRequest, type ClickCommand } from './click/click-shop.wire.js';
export { clickSignature } from './click/click.signature.js';
export type { ProviderDefinition } from './definition.js';
export {
  providerDocument,
  unsayable,
  type FiscalLines,
  type LineForm,
  type ProviderDocument,
  type WantedDocument,
} from './fiscal.js';
export { objectBody } from './inbound.js';
export type {
  Hint,
  HintProtocol,
  InboundAnswer,
  InboundChange,
  InboundCommand,
  InboundRequest,
  InboundTransaction,
  TransactionProtocol,
} from './inbound.js';
export { readAnswer, type HttpAnswer, type HttpExchange, type HttpRequest } from './http-exchange.js';
export { multicardSuccessSign, multicardWebhookSign } from './multicard/multicard.signature.js';
export { readMulticardCall, type MulticardCall } from './multicard/multicard.wire.js';
export { octoSignatures } from './octo/octo.signature.js';
export { paymeDetail, readPaymeFiscal } from './payme/payme-detail.js';
export {
  decidePayme,
  PAYME_LIFETIME_MS,
  PAYME_TIMEOUT_REASON,
  paymeStatementEntry,
  type PaymeChange,
  type PaymeDecision,
} from './payme/payme-merchant.decision.js';
export {
  isPaymeCaller,
  paymeAnswer,
  paymeError,
  readPaymeRequest,
  type PaymeCommand,
  type PaymeError,
} from './payme/payme-merchant.wire.js';
export {
  FLOWS,
  PROVIDERS,
  REGISTERS_NOTHING,
  statusOf,
  type CallOutcome,
  type FiscalLink,
  type Instrument,
  type MoneyStatus,
  type NextAction,
  type PaymentEvidence,
  type PaymentFlow,
  type PaymentOrder,
  type PaymentProvider,
  type PaymentRef,
  type ProviderCapabilities,
  type ProviderCode,
  type RefundOrder,
  type StatusFacts,
} from './port.js';
export { DEFINITIONS, isProvider } from './registry.js';
export { costOf, rankProviders, unfitReason, type ProviderRules } from './routing/provider-rules.js';
export { afterCall, stateDuring } from './saga/after-call.js';
export { nextStep, type ProviderCall, type SagaSnapshot, type SagaStep } from './saga/next-step.js';
export {
  assertPaymentMove,
  canMovePayment,
  isWithoutMoney,
  needsNoInstrument,
  PAYMENT_MOVES,
  PAYMENT_STATES,
  type PaymentMover,
  type PaymentState,
} from './saga/payment-state.js';
export { LONGEST_HELD_PAUSE_MS, retryAfterMs, retrySchedule } from './saga/retry-schedule.js';
export { stripeSignature } from './stripe/stripe.signature.js';
export { somToTiyin, tiyinToSom, tiyinToSomNumber } from './som.js';
export { isObject, type WireObject } from './wire.js';
export { parseProviderHosts, PROVIDER_HOSTS, ProviderHosts } from './provider-hosts.js';
