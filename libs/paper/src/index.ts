export { escapeHtml, markup, Markup, trusted } from './markup.js';
export { maskedPinfl } from './masked-pinfl.js';
export { fitsQrCode, qrCode, qrSvg } from './qr-code.js';
export { RECEIPT_LANGUAGES, RECEIPT_WORDS, type ReceiptLanguage, type ReceiptWords } from './receipt-words.js';
export { sumText } from './sum-text.js';
export { unitName } from './unit-words.js';
export { isTestModule } from './test-module.js';
