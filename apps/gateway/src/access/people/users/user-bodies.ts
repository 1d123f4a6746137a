import { IsEmailShaped } from '../../../http/body-constraints.js';
import { AreSomeOf } from '../../../http/body-rules.js';
import { MERCHANT_ROLES, PLATFORM_ROLES, type Role } from '../../../http/roles.js';

export const ROLES: readonly Role[] = [...MERCHANT_ROLES, ...PLATFORM_ROLES];

export class RolesBody {
  /** At least one; a user without any is removed instead. */
  @AreSomeOf(ROLES, { least: 1, most: 5 })
  roles!: Role[];
}

export class InvitationBody extends RolesBody {
  @IsEmailShaped()
  email!: string;
}
