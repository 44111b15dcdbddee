import { z } from "zod";
import { ProductName } from "../../principal";

export const AUTHORIZATION_CODE_GRANT = "authorization_code";
/** RFC 8628, section 3.4. */
export const DEVICE_CODE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
/** RFC 8693, section 2.1. */
export const TOKEN_EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
/** RFC 8693, section 3. */
export const ID_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:id_token";
export const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";

const ClientId = z.string().max(64);

/** RFC 6749, section 4.1.3, with RFC 7636, section 4.5; RFC 8628, section 3.4; and RFC 8693, section 2.1. */
export const TokenRequest = z.object({
  grant_type: z
    .string()
    .max(100)
    .describe(`\`${AUTHORIZATION_CODE_GRANT}\`, \`${DEVICE_CODE_GRANT}\` or \`${TOKEN_EXCHANGE_GRANT}\``),
  client_id: ClientId.optional().describe("Of a registered client. A CI job has none."),
  code: z.string().max(256).optional(),
  redirect_uri: z.string().max(2048).optional(),
  code_verifier: z
    .string()
    .regex(/^[\w.~-]{43,128}$/, "Must have 43 to 128 letters, digits, -, ., _ or ~")
    .optional(),
  device_code: z.string().max(256).optional(),
  subject_token: z.string().max(8192).optional().describe("The ID token of Apple, Google or a CI job."),
  subject_token_type: z.literal(ID_TOKEN_TYPE).optional(),
  requested_token_type: z.literal(ACCESS_TOKEN_TYPE).optional(),
  audience: ProductName.optional().describe("The product, if a CI job may publish several (RFC 8693, section 2.1)."),
  nonce: z
    .string()
    .min(16)
    .max(256)
    .optional()
    .describe(
      "The random nonce that the app generated for this sign-in. An ID token of Apple contains its SHA-256 in hex.",
    ),
  name: z
    .string()
    .max(400)
    .optional()
    .describe("The user's name, which Apple sends to the app only at the first sign-in."),
  authorization_code: z
    .string()
    .max(1024)
    .optional()
    .describe("Apple's authorization code, to revoke the app's access when the account is deleted."),
});
export type TokenRequest = z.infer<typeof TokenRequest>;

/** RFC 6749, section 5.1. */
export const TokenResponse = z.object({
  access_token: z.string().describe("The token of a session or of a CI job, for `Authorization: Bearer`."),
  token_type: z.literal("Bearer"),
  expires_in: z.int().describe("Seconds until the session ends. It ends earlier after 30 days without use."),
  issued_token_type: z.literal(ACCESS_TOKEN_TYPE).optional().describe("After a token exchange (RFC 8693)."),
  scope: z
    .string()
    .optional()
    .describe("Of a CI job: `releases:write`, for the publisher's product and channel alone."),
  publisher: z
    .object({
      name: z.string(),
      product: z.string(),
      channel: z.string().nullable(),
      source: z.object({ repository: z.string(), commit: z.string(), ref: z.string() }).nullable(),
    })
    .optional()
    .describe("Of a CI job: the publisher that it is, the releases that it may read and publish, and what it builds."),
});
export type TokenResponse = z.infer<typeof TokenResponse>;

/** RFC 6749, section 5.2. */
export const OAuthError = z.object({ error: z.string(), error_description: z.string(), error_uri: z.string() });

/** The same with the challenge of an account that has a second factor. */
export const TokenError = OAuthError.extend({
  challenge: z.string().optional().describe("Completes the sign-in at `POST /api/auth/login/factor`."),
  expiresAt: z.iso.datetime().optional(),
  factors: z.array(z.string()).optional(),
});

/** RFC 7009, section 2.1. */
export const RevocationRequest = z.object({ token: z.string().max(4096), client_id: ClientId });

/** RFC 8628, section 3.1. */
export const DeviceAuthorizationRequest = z.object({ client_id: ClientId });

/** RFC 8628, section 3.2. */
export const DeviceAuthorization = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.int().describe("Seconds."),
  interval: z.int().describe("Seconds between two requests to the token endpoint."),
});

/** RFC 8414, section 2. */
export const ServerMetadata = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  revocation_endpoint: z.string(),
  device_authorization_endpoint: z.string(),
  response_types_supported: z.array(z.string()),
  grant_types_supported: z.array(z.string()),
  code_challenge_methods_supported: z.array(z.string()),
  token_endpoint_auth_methods_supported: z.array(z.string()),
  revocation_endpoint_auth_methods_supported: z.array(z.string()),
  authorization_response_iss_parameter_supported: z.boolean(),
  service_documentation: z.string(),
});
