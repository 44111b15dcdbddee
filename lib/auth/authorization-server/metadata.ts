import type { z } from "zod";
import type { Config } from "../../platform/config";
import { AUTHORIZATION_CODE_GRANT, DEVICE_CODE_GRANT, type ServerMetadata, TOKEN_EXCHANGE_GRANT } from "./schema";

/** Describes the authorization server to client libraries (RFC 8414, section 2). */
export function serverMetadata({ baseUrl }: Pick<Config, "baseUrl">): z.infer<typeof ServerMetadata> {
  const endpoints = `${baseUrl}/api/auth/oauth`;
  return {
    issuer: baseUrl,
    authorization_endpoint: `${endpoints}/authorize`,
    token_endpoint: `${endpoints}/token`,
    revocation_endpoint: `${endpoints}/revoke`,
    device_authorization_endpoint: `${endpoints}/device`,
    response_types_supported: ["code"],
    grant_types_supported: [AUTHORIZATION_CODE_GRANT, DEVICE_CODE_GRANT, TOKEN_EXCHANGE_GRANT],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${baseUrl}/docs`,
  };
}
