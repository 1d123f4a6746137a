export type { CallResult, Refusal, SaleAnswer, Unclear, UnclearReason } from './answers.js';
export { LocalApiClient, type LocalApiClientOptions, type Preparation, type PreparedCall } from './client.js';
