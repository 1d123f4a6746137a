import { IsGivenOrAbsent, IsTextUpTo } from '../../http/body-rules.js';
import { PlaceBody, PlacePatch } from '../places/place-bodies.js';

export class BranchBody extends PlaceBody {
  @IsGivenOrAbsent()
  @IsTextUpTo(512)
  address?: string;
}

export class BranchPatch extends PlacePatch {
  @IsGivenOrAbsent()
  @IsTextUpTo(512)
  address?: string;
}
