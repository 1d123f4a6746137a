import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../audit/caller.js';
import { ownId } from '../http/own-id.js';
import { Scopes, StepUp } from '../http/scopes.js';
import { ReceiptUrls } from '../receipts/receipt-url.js';
import { receiptView, type ReceiptView } from '../receipts/receipt-view.js';
import { ReceiptRepository } from '../receipts/receipt.repository.js';
import { CompleteFiscal } from './complete-fiscal.js';
import { FiscalBody } from './operator-bodies.js';

@Controller('v1/receipts')
export class ReceiptFiscalController {
  constructor(
    private readonly completeFiscal: CompleteFiscal,
    private readonly receipts: ReceiptRepository,
    private readonly urls: ReceiptUrls,
  ) {}

  @Post(':id/fiscal')
  @StepUp()
  @HttpCode(200)
  @Scopes('operator:resolve')
  async complete(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: FiscalBody,
  ): Promise<ReceiptView> {
    const receiptId = ownId('rcp', id, 'receipt');
    const { fiscal_sign: fiscalSign, verification_url: verificationUrl } = body;
    await this.completeFiscal.execute({ caller, receiptId, fiscalSign, verificationUrl, reason: body.reason.trim() });
    const row = await this.receipts.find(caller.merchantId, receiptId);
    if (!row) throw new Error(`receipt ${receiptId} has vanished`);
    return receiptView(row, this.urls.urlOf(row.id));
  }
}
