import { isMerchantRole, isPlatformRole, type Role } from './roles.js';

/** Who has this claim has this role. */
export interface RoleRule {
  /** Name of the claim; a dot leads into it: `realm_access.roles`. */
  claim: string;
  /** The claim's value, or one of its values. `*`: any; then the value is the merchant's code where `merchant` is `*` too. */
  value: string;
  /** A merchant's code; `*`: the claim's value is the code; null: the whole installation. */
  merchant: string | null;
  role: Role;
}

const RULE = /^([\w.:/-]{1,100})=([^=,;]{1,200})->(?:([^=,;/]{1,128})\/)?([a-z_]{1,40})$/;

/**
 * Reads OIDC_ROLES: `claim=value->merchant-code/role` or `claim=value->platform_role`, joined by commas.
 * @throws Error whose message completes "OIDC_ROLES must be …"
 */
export function parseRoleRules(text: string): readonly RoleRule[] {
  return text.split(',').map((entry) => {
    const [, claim = '', value = '', merchant = null, role = ''] = RULE.exec(entry.trim()) ?? [];
    const fits = merchant === null ? isPlatformRole(role) : isMerchantRole(role);
    if (claim === '' || !fits || (merchant === '*' && value !== '*')) {
      throw new Error('a list of rules such as groups=shop-owners->shop/owner,groups=it->platform_administrator');
    }
    return { claim, value, merchant, role: role as Role };
  });
}
