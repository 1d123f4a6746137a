import { ArrayMaxSize, ArrayMinSize, IsArray, IsObject } from 'class-validator';
import { JudgedApart } from '#shapes';

export const MAX_BATCH = 500;

/** Body of POST /v1/receipts/batch. What is wrong with one of the receipts is that receipt's own result. */
export class BatchBody {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_BATCH)
  @IsObject({ each: true })
  @JudgedApart()
  receipts!: object[];
}
