import { Controller, Get, Header, Inject } from '@nestjs/common';
import { SCOPES, type Scope } from '../../http/scopes.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { AUTH_METHODS } from './auth-methods.js';
import { ASSERTION_ALGORITHMS } from './client-assertion.js';
import { issuerOf } from './issuer.js';

/** RFC 8414 §2. */
export interface ServerMetadata {
  issuer: string;
  token_endpoint: string;
  revocation_endpoint: string;
  introspection_endpoint: string;
  grant_types_supported: readonly string[];
  /** None: there is no authorization endpoint. */
  response_types_supported: readonly string[];
  scopes_supported: readonly Scope[];
  token_endpoint_auth_methods_supported: readonly string[];
  token_endpoint_auth_signing_alg_values_supported: readonly string[];
  revocation_endpoint_auth_methods_supported: readonly string[];
  revocation_endpoint_auth_signing_alg_values_supported: readonly string[];
  introspection_endpoint_auth_methods_supported: readonly string[];
  introspection_endpoint_auth_signing_alg_values_supported: readonly string[];
}

/** Where OAuth clients find everything (RFC 8414). Addresses are those of PUBLIC_URL, never of the request's headers. */
@Controller('.well-known')
export class ServerMetadataController {
  constructor(@Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'PUBLIC_URL'>) {}

  @Get('oauth-authorization-server')
  @Header('cache-control', 'public, max-age=300')
  read(): ServerMetadata {
    const { issuer, tokenEndpoint, revocationEndpoint, introspectionEndpoint } = issuerOf(this.settings.PUBLIC_URL);
    return {
      issuer,
      token_endpoint: tokenEndpoint,
      revocation_endpoint: revocationEndpoint,
      introspection_endpoint: introspectionEndpoint,
      grant_types_supported: ['client_credentials'],
      response_types_supported: [],
      scopes_supported: SCOPES,
      token_endpoint_auth_methods_supported: AUTH_METHODS,
      token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
      revocation_endpoint_auth_methods_supported: AUTH_METHODS,
      revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
      introspection_endpoint_auth_methods_supported: AUTH_METHODS,
      introspection_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    };
  }
}
