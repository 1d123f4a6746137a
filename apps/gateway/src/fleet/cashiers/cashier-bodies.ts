import { IsOptional } from 'class-validator';
import { IsIdOrCode } from '../../http/body-rules.js';
import { PlaceBody, PlacePatch } from '../places/place-bodies.js';

export class CashierBody extends PlaceBody {
  /** Our id or the merchant's code. Without one, every sale has to name its branch. */
  @IsOptional()
  @IsIdOrCode()
  branch_id?: string | null;
}

export class CashierPatch extends PlacePatch {
  /** Our id or the merchant's code. */
  @IsOptional()
  @IsIdOrCode()
  branch_id?: string | null;
}
