import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsArray, IsIn } from 'class-validator';
import { IsEmailShaped } from '../../../http/body-constraints.js';
import { MERCHANT_ROLES, PLATFORM_ROLES, type Role } from '../../../http/roles.js';

export const ROLES: readonly Role[] = [...MERCHANT_ROLES, ...PLATFORM_ROLES];

export class RolesBody {
  /** At least one; a user without any is removed instead. */
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(5)
  @ArrayUnique()
  @IsIn(ROLES, { each: true })
  roles!: Role[];
}

export class InvitationBody extends RolesBody {
  @IsEmailShaped()
  email!: string;
}
