const TERMINAL = 'ZZ000000000001';

/** What a register with our extensions answers in tests that speak HTTP with it themselves. */
export const STATUS = {
  ...{ app: 'x', version: '1', systemVersion: '1', port: 1, fmInitialized: true, activated: true },
  ...{ subscriptionState: 'active', capabilities: ['idempotency', 'journal'], journalId: 'jrn-1' },
};
export const INFO = {
  ...{ terminalId: TERMINAL, version: '1', type: 1, receiptCount: 0, receiptMaxCount: 100, zreportCount: 0 },
  ...{ zreportMaxCount: 9, currentReceiptSeq: 40, AccumulatedSaleCash: 0, AccumulatedSaleCard: 0 },
  ...{ AccumulatedRefundCash: 0, AccumulatedRefundCard: 0, AccumulatedSaleVAT: 0, AccumulatedRefundVAT: 0 },
};
export const RECEIPT = {
  ...{ terminalId: TERMINAL, receiptSeq: 41, fiscalSign: '012345678901', transactionTime: 1_795_158_000_000 },
  qrUrl: `https://ofd.soliq.uz/check?t=${TERMINAL}&r=41&c=20261120120000&s=012345678901`,
};
export const SALE = { success: true, receipt: RECEIPT, receiptHtml: '', ofdSent: true };

/** For registers that are called by their address alone. */
export const NO_LINKS = {
  transportTo: (): never => {
    throw new Error('no register dials in here');
  },
};
