import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "getAuthorizationServerMetadata",
  description: "The endpoints and features of the authorization server (RFC 8414). Client libraries read it.",
  responses: {
    200: {
      description: "The metadata.",
      examples: {
        "A service": {
          issuer: "https://api.example.com",
          authorization_endpoint: "https://api.example.com/api/auth/oauth/authorize",
          token_endpoint: "https://api.example.com/api/auth/oauth/token",
          revocation_endpoint: "https://api.example.com/api/auth/oauth/revoke",
          device_authorization_endpoint: "https://api.example.com/api/auth/oauth/device",
          response_types_supported: ["code"],
          grant_types_supported: [
            "authorization_code",
            "urn:ietf:params:oauth:grant-type:device_code",
            "urn:ietf:params:oauth:grant-type:token-exchange",
          ],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
          revocation_endpoint_auth_methods_supported: ["none"],
          authorization_response_iss_parameter_supported: true,
          service_documentation: "https://api.example.com/docs",
        },
      },
    },
  },
};
