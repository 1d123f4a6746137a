import { IsString, MaxLength } from 'class-validator';
import { IsGivenOrAbsent } from '../../http/body-rules.js';
import { PlaceBody, PlacePatch } from '../places/place-bodies.js';
import { IsCleanText } from '../../http/body-constraints.js';

export class BranchBody extends PlaceBody {
  @IsGivenOrAbsent()
  @IsString()
  @MaxLength(512)
  @IsCleanText()
  address?: string;
}

export class BranchPatch extends PlacePatch {
  @IsGivenOrAbsent()
  @IsString()
  @MaxLength(512)
  @IsCleanText()
  address?: string;
}
