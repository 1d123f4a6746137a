import { ArrayMaxSize, ArrayMinSize, IsArray, IsIn, IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { JudgedApart } from '#shapes';
import { AreNested, IsTextUpTo } from '../../http/body-rules.js';

export const MAX_PRODUCTS = 1_000;
const MAX_ITEMS = 500;

/** Each product is checked for itself: what is wrong with one is reported in its result. */
export class ProductsBody {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_PRODUCTS)
  @JudgedApart()
  products!: unknown[];
}

/** As the items of a receipt, without price and quantity. */
export class ResolveItemBody {
  @IsOptional()
  @IsTextUpTo(512)
  name?: string;

  @IsOptional()
  @IsTextUpTo(128)
  sku?: string;

  @IsOptional()
  @IsTextUpTo(63)
  barcode?: string;

  @IsOptional()
  @Matches(/^\d{17}$/, { message: 'spic must have 17 digits' })
  spic?: string;

  @IsOptional()
  @Matches(/^\d{1,20}$/, { message: 'package_code must have 1 to 20 digits' })
  package_code?: string;
}

export class ResolveBody {
  @AreNested(() => ResolveItemBody, MAX_ITEMS)
  items!: ResolveItemBody[];
}

/** `?limit=&cursor=` with cursors that hold a sku. */
export class CatalogPageQuery {
  /** 1–100, default 20. */
  @IsOptional()
  @Matches(/^([1-9]\d?|100)$/, { message: 'limit must be a number from 1 to 100' })
  limit?: string;

  /** `next_cursor` of the page before. */
  @IsOptional()
  @IsString()
  @MaxLength(2_000)
  cursor?: string;
}

export class ProductsQuery extends CatalogPageQuery {
  /** What a person types: sku, barcode, words of a name. */
  @IsOptional()
  @IsTextUpTo(200)
  q?: string;

  @IsOptional()
  @Matches(/^\d{17}$/, { message: 'spic must have 17 digits' })
  spic?: string;

  @IsOptional()
  @IsIn(['true', 'false'])
  marked?: string;

  /** `true`: archived ones, too. */
  @IsOptional()
  @IsIn(['true', 'false'])
  archived?: string;
}

export class ChangesQuery {
  /** 1–1000, default 100. */
  @IsOptional()
  @Matches(/^([1-9]\d{0,2}|1000)$/, { message: 'limit must be a number from 1 to 1000' })
  limit?: string;

  @IsOptional()
  @IsString()
  @MaxLength(200)
  cursor?: string;
}
