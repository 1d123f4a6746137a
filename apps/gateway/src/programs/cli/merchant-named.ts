import type { Merchants, MerchantView } from '../../fleet/merchants/merchants.js';
import { UsageError } from './usage-error.js';

/** @throws UsageError there is none with this id or code */
export async function merchantNamed(merchants: Merchants, idOrCode: string): Promise<MerchantView> {
  const merchant = await merchants.find(idOrCode);
  if (!merchant) throw new UsageError(`There is no merchant ${JSON.stringify(idOrCode)}.`);
  return merchant;
}
